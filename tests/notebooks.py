"""Notebooks, run as Jupyter runs them: in a kernel of their own, by `nbclient`."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import nbformat

FOLDER: Final = Path(__file__).parents[1] / "fixtures" / "notebooks"


def said_in(notebook: nbformat.NotebookNode) -> str:
    """What a notebook's outputs say, those on standard error left out."""
    outputs = (
        output for cell in notebook.cells for output in cell.get("outputs", ()) if output.get("name") != "stderr"
    )
    return "\n".join(
        output["text"] if output["output_type"] == "stream" else output["data"].get("text/plain", "")
        for output in outputs
    )


class RanNotebook:
    """A notebook that ran to its end."""

    def __init__(self, name: str, folder: Path, *, timeout_s: int) -> None:
        """Runs it in a folder of the test's; a cell may take `timeout_s` seconds.

        :raises CellExecutionError: if a cell fails.
        """
        from nbclient import NotebookClient  # it takes Jupyter, which only the slow tests do

        self._notebook = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)
        NotebookClient(self._notebook, timeout=timeout_s, resources={"metadata": {"path": str(folder)}}).execute()

    @property
    def said(self) -> str:
        """What its cells printed, and the values that they ended with."""
        return said_in(self._notebook)

    def keep(self, name: str, settle: Callable[[str], str]) -> None:
        """Writes the notebook with its outputs, for the site, which cannot run it; what the moment said is settled."""
        for cell in self._notebook.cells:
            cell.metadata = {}
            if cell.cell_type != "code":
                continue
            cell.execution_count = None
            cell.outputs = [each for each in cell.outputs if each.get("name") != "stderr"]
            for output in cell.outputs:
                output.pop("execution_count", None)
                if output.output_type == "stream":
                    output.text = settle(output.text)
                elif "data" in output:
                    output.metadata = {}
                if output.output_type == "execute_result":
                    output.execution_count = None
        self._notebook.metadata = {key: self._notebook.metadata[key] for key in ("kernelspec", "language_info")}
        self._notebook.metadata["language_info"] = {"name": "python"}
        nbformat.write(self._notebook, FOLDER / f"{name}.ipynb")

    @property
    def pictures(self) -> list[bytes]:
        """The PNG files that it shows."""
        data = (output.get("data", {}) for output in self._outputs())
        return [base64.b64decode(shown["image/png"]) for shown in data if "image/png" in shown]

    @property
    def complaints(self) -> str:
        """What came on stderr."""
        return "".join(output["text"] for output in self._outputs() if output.get("name") == "stderr")

    def _outputs(self) -> Iterator[dict[str, Any]]:
        for cell in self._notebook.cells:
            yield from cell.get("outputs", ())
