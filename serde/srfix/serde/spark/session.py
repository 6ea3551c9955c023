"""Starts a Spark session with everything that srfix needs, or says what is missing; passes on its jobs' progress."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from srfix.serde.bounds import CONNECT_SECONDS
from srfix.serde.errors import JarMissingError, SparkError, UsageError
from srfix.serde.printable import foreign
from srfix.serde.spark.avro_limits import with_avro_limits
from srfix.serde.spark.progress import JobProgress, StreamProgress, stream_progress_of
from srfix.serde.spark.releases import missing_jar, takes_jars_later, without_jars
from srfix.serde.spark.releases import packages as packages_for

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_WORKERS_PYTHON: Final = "PYSPARK_PYTHON"
_JAR_OPTIONS: Final = frozenset({"spark.jars", "spark.jars.packages"})
_SUBMITTED: Final = re.compile(r"(?:--master[ =]|--conf[ =]spark\.master=)\s*(\S+)")
_DEFAULT: Final = re.compile(r"^\s*spark\.master[\s=:]+(\S+)", re.MULTILINE)
_CONNECT_PORT: Final = 15002


def start_session(
    app_name: str,
    *,
    master: str | None = None,
    packages: Iterable[str] | None = None,
    config: Mapping[str, str] | None = None,
) -> SparkSession:
    """The active session, or a new one, with Avro and Kafka.

    Jars that Spark lacks are added to the running session, one by one (`ADD JARS 'ivy://…?transitive=false'`). All
    threads of the session and later sessions of the process see them. The coordinates include all dependencies that
    Spark lacks. If a jar is not available, an error names its coordinate (with `spark.jars.packages`, Spark would end
    with JAVA_GATEWAY_EXITED). Ivy's messages are not shown. The workers of a local master run this Python.

    Before Spark 4.0, `from_avro` does not see jars that a running session adds. There, a new session is started with
    `spark.jars.packages`, unless `config` has this property or `spark.jars`; a running session that lacks a jar is
    refused.

    :param master: `local[4]`, `spark://…`, `yarn`; a Connect server's `sc://…`; None for Spark's configuration.
    :param packages: Maven coordinates; None to add those of `packages.packages` for the present Spark, if it lacks any;
        `()` to add none.
    :param config: Spark's configuration, by name; a new session also gets `with_avro_limits`.
    :raises JarMissingError: if a jar is not available, or is still missing.
    :raises SparkError: if PySpark or Java is missing, or Spark does not start.
    """
    settings = dict(config or {})
    coordinates = None if packages is None else tuple(packages)
    if not takes_jars_later():
        return _with_jars_from_the_start(app_name, master, settings, coordinates)
    spark = _started(app_name, master, settings)
    if coordinates is None:
        try:
            check_session(spark)
        except JarMissingError as missing:
            coordinates = missing.packages
    from srfix.serde.spark._pyspark.sessions import add_own_jars, on_the_class_path

    if coordinates:
        with on_the_class_path(spark):
            _add(spark, coordinates)
        check_session(spark)
    add_own_jars(spark)
    return spark


def check_session(spark: SparkSession, *, avro: bool = True, kafka: bool = True) -> None:
    """Checks whether a session, classic or Connect, has the given features. It reads nothing and asks no broker.

    :param avro: Spark's Avro functions, which the jvm engine uses.
    :param kafka: Spark's Kafka source.
    :raises JarMissingError: if the session lacks one of them; the error has the jar's coordinates.
    """
    from pyspark.sql import functions as F
    from pyspark.sql.avro.functions import from_avro

    try:
        if avro:
            # Reading the schema runs no job, but resolves the functions; Spark Connect resolves them no earlier.
            spark.range(0).select(from_avro(F.lit(b""), '"int"')).schema  # noqa: B018
        if kafka:
            nowhere = {"kafka.bootstrap.servers": "127.0.0.1:1", "subscribe": "none"}
            spark.read.format("kafka").options(**nowhere).load().schema  # noqa: B018
    except Exception as error:
        missing = missing_jar(str(error), spark.version)
        if missing is None:
            raise
        raise missing from None


def _with_jars_from_the_start(
    app_name: str, master: str | None, config: dict[str, str], packages: tuple[str, ...] | None
) -> SparkSession:
    remote = master is not None and master.startswith("sc://")  # only its server can have the jars
    if packages != () and not remote and not _JAR_OPTIONS & config.keys():
        wanted = packages_for().coordinates if packages is None else packages
        config["spark.jars.packages"] = ",".join(":".join(_parts(coordinate)) for coordinate in wanted)
    spark = _started(app_name, master, config)
    if packages != ():
        try:
            check_session(spark)
        except JarMissingError as missing:
            raise JarMissingError(
                f"{missing.message} A Spark before 4.0 cannot add jars once it runs: stop the session (spark.stop()) "
                "and start it again, or start a new process.",
                packages=missing.packages,
            ) from None
    return spark


def _started(app_name: str, master: str | None, config: dict[str, str]) -> SparkSession:
    try:
        from pyspark.sql import SparkSession
    except ModuleNotFoundError as error:
        raise SparkError(f"There is no {error.name} here. Install it: pip install 'srfix[spark]'.") from None
    builder = SparkSession.builder.appName(app_name)
    remote = master is not None and master.startswith("sc://")
    if master is not None:
        builder = builder.remote(master) if remote else builder.master(master)
    if _master(master, config).startswith("local"):
        # Spark's own default is the `python3` in the PATH, which may not have srfix.
        os.environ.setdefault(_WORKERS_PYTHON, sys.executable)
    builder = builder.config(map={**(config if remote else with_avro_limits(config))})
    if remote:
        assert master is not None
        _require_server(master)
    elif master is None and (server_url := os.environ.get("SPARK_REMOTE")) and SparkSession.getActiveSession() is None:
        _require_server(server_url)
    try:
        return builder.getOrCreate()
    except Exception as error:
        if "JAVA_GATEWAY_EXITED" not in str(error):
            raise
        raise _no_gateway(config) from None  # the error gives no more details


def _master(master: str | None, config: Mapping[str, str]) -> str:
    """As far as it is known in advance."""
    if master or (master := config.get("spark.master") or os.environ.get("SPARK_REMOTE")):
        return master
    folder = os.environ.get("SPARK_CONF_DIR") or str(Path(os.environ.get("SPARK_HOME", "")) / "conf")
    try:
        defaults = (Path(folder) / "spark-defaults.conf").read_text(encoding="utf-8", errors="replace")
    except OSError:
        defaults = ""
    submitted = _SUBMITTED.search(os.environ.get("PYSPARK_SUBMIT_ARGS", "")) or _DEFAULT.search(defaults)
    return "local[*]" if submitted is None else submitted[1]


def _require_server(master: str) -> None:
    """Checks the server, because Spark itself would retry for ten minutes."""
    # The text after the host may be a token.
    place = master.removeprefix("sc://").partition("/")[0].partition(";")[0]
    try:
        parts = urlsplit(f"//{place}")
        host, port = parts.hostname, parts.port or _CONNECT_PORT
    except ValueError:
        host = None
    if not host:
        raise UsageError("The URL of a Connect server is sc://HOST:PORT, but this URL has no valid host and port.")
    try:
        import grpc
    except ModuleNotFoundError:
        return  # PySpark names the package that it lacks for Connect
    # A server is ready when it has sent its HTTP/2 settings: an open port is not enough. gRPC also uses the configured
    # proxies.
    is_tls = "use_ssl=true" in master or "token=" in master
    target = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    channel = grpc.secure_channel(target, grpc.ssl_channel_credentials()) if is_tls else grpc.insecure_channel(target)
    try:
        grpc.channel_ready_future(channel).result(timeout=CONNECT_SECONDS)
    except grpc.FutureTimeoutError:
        raise SparkError(
            f"No Spark Connect server answers at {foreign(host)}:{port} within {CONNECT_SECONDS:g} seconds. Start it "
            "(start-connect-server.sh), or check host, port and whether it speaks TLS (use_ssl)."
        ) from None
    finally:
        channel.close()


def _no_gateway(config: Mapping[str, str], spark_version: str | None = None) -> SparkError:
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=str(Path(home) / "bin") if home else None)
    if java is None:
        where = f"in {home}/bin (JAVA_HOME)" if home else "on the PATH, and JAVA_HOME is not set"
        return SparkError(f"Spark needs Java 17 or later, but there is no java {where}. Install it, or set JAVA_HOME.")
    if coordinates := config.get("spark.jars.packages"):
        wanted = packages_for(spark_version)
        instead = (
            "Leave out spark.jars.packages: start_session adds the needed jars one by one."
            if takes_jars_later()
            else 'Put the jars on spark.jars (config={"spark.jars": …}).'
        )
        return JarMissingError(
            f"Spark ended during its start. It was to fetch {coordinates}. Probably one of these jars, or a jar that they "
            f"need, is not available; see the lines above. {instead} Or name other versions: {wanted} are known to "
            f"work.{without_jars()}",
            packages=wanted.coordinates,
        )
    return SparkError(
        f"Spark ended during its start; its messages are above. It ran {java}. Spark needs Java 17 or later, and "
        "must know all the configured properties."
    )


def _add(spark: SparkSession, coordinates: tuple[str, ...]) -> None:
    for coordinate in coordinates:
        group, artifact, version = _parts(coordinate)
        try:
            spark.sql(f"ADD JARS 'ivy://{group}:{artifact}:{version}?transitive=false'")
        except Exception as error:
            if "unresolved dependency" not in str(error) and "Ivy" not in str(error):
                raise
            raise JarMissingError(
                f"Spark cannot get the jar {coordinate}: none of its Maven repositories has it, or none can be "
                "reached. Name another version (packages=…), or put the jars on spark.jars "
                f"(config=…).{without_jars()}",
                packages=coordinates,
            ) from None


def _parts(coordinate: str) -> tuple[str, str, str]:
    parts = coordinate.split(":")
    if len(parts) != 3 or not all(parts) or "'" in coordinate:
        raise SparkError(f"{coordinate!r} is not a Maven coordinate. Write group:artifact:version.")
    return parts[0], parts[1], parts[2]


_LEAST_EVERY_S: Final = 0.1


@contextmanager
def watch_streams(spark: SparkSession, say: Callable[[StreamProgress], None]) -> Iterator[None]:
    """Calls `say` for every micro-batch of the session's queries, classic or Connect, from a thread of Spark."""
    from srfix.serde.spark._pyspark.sessions import ProgressListener

    listener = ProgressListener(lambda text: say(stream_progress_of(text)))
    spark.streams.addListener(listener)
    try:
        yield
    finally:
        spark.streams.removeListener(listener)


@contextmanager
def watch_jobs(spark: SparkSession, say: Callable[[JobProgress], None], *, every_s: float = 1.0) -> Iterator[None]:
    """Calls `say` while jobs run, from its own thread, whenever their tasks have advanced. On Spark Connect tasks are
    not visible, so it calls nothing.

    :param every_s: seconds between two checks, at least 0.1.
    """
    from srfix.serde.spark._pyspark.sessions import job_progress

    if job_progress(spark) is None:
        yield
        return
    stop = Event()

    def look() -> None:
        last: JobProgress | None = None
        while not stop.wait(max(every_s, _LEAST_EVERY_S)):
            progress = job_progress(spark)
            if progress is not None and progress.jobs and progress != last:
                say(progress)
            last = progress

    thread = Thread(target=look, name="srfix-progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
