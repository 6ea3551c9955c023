"""A plan as commands, for a person with the right to write, if you lack it: only POSIX sh, curl, awk, tr, cut and sed.

No name and no schema is ever code. Bodies go through standard input, from here-documents with a quoted delimiter that
is no line of the body, so a schema may have any length. A body is one line of ASCII, because JSON escapes other
characters. Subjects are percent-encoded in URLs, between single quotes. Comments and messages hold printable characters
only, on one line. awk reads a registry's answer as JSON tokens; unprintable characters are not shown. Compatibility and
mode are reset however the script ends after it changed them, or may have changed them: by a refusal, a signal, a closed
pipe, or a cut-off script. Only kill -9 prevents this; the second argument `put-back` is for that case.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from shlex import quote
from types import MappingProxyType
from typing import Final, assert_never
from urllib.parse import quote as percent_encoded

from srfix.recovery.actions.actions import (
    Action,
    DeleteVersion,
    Register,
    RestoreCompatibility,
    RestoreMode,
    SetCompatibility,
    SetMode,
    SoftDelete,
    relaxed_fields,
    restored_fields,
)
from srfix.recovery.actions.document import describe
from srfix.recovery.errors import PlanError
from srfix.recovery.facts.subject_state import level_of
from srfix.recovery.repair.plan_file import Plan
from srfix.serde.printable import foreign, printable_json
from srfix.serde.registry.http.urls import path_of
from srfix.serde.schemas.models import Json, Schema

_HEAD: Final = r"""
set -euf
LC_ALL=C
export LC_ALL
newline='
'

# send METHOD PATH [options of curl]: the body of the answer goes into $answer; false unless the status is 2xx.
send() {
    method=$1 path=$2
    shift 2
    # Several options, split at blanks (set -f: nothing else is done to them).
    # shellcheck disable=SC2086
    answer=$(curl --silent --show-error --globoff --path-as-is --proto '=http,https' --max-time 60 \
        --max-filesize 16777216 --header 'Content-Type: application/vnd.schemaregistry.v1+json' --header 'Expect:' \
        --write-out '\n%{http_code}' ${CURL_OPTIONS:-} --request "$method" "$@" --url "$registry$path") || {
        status=000
        printf '%s %s: no answer\n' "$method" "$path" >&2
        return 1
    }
    status=${answer##*"$newline"}
    answer=${answer%"$newline"*}
    case $status in 2??) return 0 ;; esac
    printf '%s %s was answered with HTTP %s:\n' "$method" "$path" "$status" | tr -c '\n -~' '?' >&2
    tr -c '\n -~' '?' <<ANSWER | cut -c 1-2000 | sed 10q >&2
$answer
ANSWER
    return 1
}

# number KEY: the number under this key of the answer, and of no object within it.
number() {
    awk -v key="$1" '
        {
            gsub(/\\./, "_")
            count = split($0, part, "\"")
            for (i = 1; i <= count; i++) {
                if (i % 2 == 0) { name = part[i]; continue }
                text = part[i]
                if (!found && depth == 1 && name == key && match(text, /^[ \t]*:[ \t]*[0-9]+[ \t\r]*([,}]|$)/)) {
                    found = substr(text, 1, RLENGTH)
                    gsub(/[^0-9]/, "", found)
                    print found
                    found = "yes"
                }
                depth += gsub(/[[{]/, "", text) - gsub(/[]}]/, "", text)
                name = ""
            }
        }' <<ANSWER
$answer
ANSWER
}

stop() { printf '%s: stopped\n' "$1" >&2; exit 1; }
must_be() { [ "$1" = "$2" ] || stop "expected $2, got '$1'"; }
must_be_there() { [ -n "$1" ] || stop "the answer has no $2"; }

# is_back PATH KEY VALUE: true if KEY no longer has this value, or if the registry does not let you ask.
is_back() {
    if send GET "$1" </dev/null 2>/dev/null; then
        case $answer in *"\"$2\":\"$3\""* | *"\"$2\": \"$3\""*) return 1 ;; esac
    else
        case $status in 401 | 403 | 404) ;; *) return 1 ;; esac
    fi
}

# again CHANGED FUNCTION WHAT: puts something back if it was changed, or may have been.
again() {
    case $1 in
        '') return 0 ;;
        # Most likely nothing was changed; and whoever may not change a setting may not put it back either.
        refused) "$2" 2>/dev/null || : ; return 0 ;;
    esac
    tries=1
    until "$2"; do
        if [ "$tries" -ge 5 ]; then
            printf '%s was NOT put back. Run this script with put-back as its second argument, behind the URL.\n' "$3" >&2
            ended=3
            return 0
        fi
        tries=$((tries + 1))
        sleep 1
    done
    printf '%s was put back.\n' "$3" >&2
}
"""
_TRAPS: Final = """
trap 'put_back "$?"' EXIT
trap 'put_back 129' HUP
trap 'put_back 130' INT
trap 'put_back 131' QUIT
trap 'put_back 134' ABRT
trap 'put_back 138' USR1
trap 'put_back 140' USR2
trap 'put_back 141' PIPE
trap 'put_back 142' ALRM
trap 'put_back 143' TERM
"""
_DELIMITER: Final = "BODY"
_IN_A_URL: Final = "%:/?#[]@!&*+,;=()"
"""Characters that stay unencoded in the registry's URL, besides those that never need encoding."""
_COMMENT: Final = 2_000

_Changes = SetCompatibility | SetMode
_Restores = RestoreCompatibility | RestoreMode


def shell_script(plan: Plan) -> str:
    """The commands of a plan, with their undo as comments at the end. The script contains no secret and is printable.

    :raises PlanError: if its steps are not numbered as srfix numbers them.
    :raises UsageError: if the registry cannot be asked about one of the subjects: no URL can carry its name.
    """
    return "\n".join(_lines(plan)) + "\n"


def _lines(plan: Plan) -> Iterator[str]:
    if [action.step for action in plan.actions] != list(range(1, len(plan.actions) + 1)):
        raise PlanError("The steps of the plan are not numbered from 1: srfix did not make it. Plan again.")
    registry = _registry(plan)
    yield "#!/bin/sh"
    yield f"# The repair that srfix planned, as commands. Made from the plan {_comment(plan.digest)}"
    yield f"# The first argument is the registry's URL; without it, the script uses {_comment(registry)}"
    yield "# Credentials and certificates go into CURL_OPTIONS, for example: CURL_OPTIONS='--user name:password'"
    yield "# The script stops at the first answer that differs from the plan. Whatever ends it, it resets the compatibility"
    yield "# and the mode that it changed. Only kill -9 and a crash of the machine prevent that: then run it again with the"
    yield "# registry's URL as the first argument and put-back as the second. It keeps no journal; its end says how to undo it."
    yield _HEAD.strip("\n")
    pairs = _pairs(plan.actions)
    yield from _putting_back(plan.actions, pairs)
    yield _TRAPS.strip("\n")
    yield ""
    yield f"registry={quote(registry)}"
    yield '[ -z "${1:-}" ] || registry=${1%/}'
    yield "case ${2:-} in"
    yield "'') ;;"
    yield f"put-back) {' '.join(f'changed_{step}=yes' for step in sorted(pairs, reverse=True)) or ':'}; exit 0 ;;"
    yield "*) stop 'the second argument must be put-back, or be left out' ;;"
    yield "esac"
    for line in plan.price:
        yield f"# {_comment(line)}"
    for action in plan.actions:
        yield f"\n# step {action.step}: {_comment(describe(action))}; subject {_comment(action.subject)}"
        yield from _commands(action, plan.actions, pairs)
    for step in sorted(pairs):
        if pairs[step] is None:
            yield f"changed_{step}="
    yield "\n# To undo it, last step first:"
    for action in reversed(plan.actions):
        yield from (f"# {line}" for line in _undo(action))


def _pairs(actions: Sequence[Action]) -> dict[int, int | None]:
    pairs: dict[int, int | None] = {}
    for at, action in enumerate(actions):
        if isinstance(action, SetCompatibility | SetMode):
            restores = RestoreCompatibility if isinstance(action, SetCompatibility) else RestoreMode
            later = (a.step for a in actions[at + 1 :] if isinstance(a, restores) and a.subject == action.subject)
            pairs[action.step] = next(later, None)
    return pairs


def _putting_back(actions: Sequence[Action], pairs: Mapping[int, int | None]) -> Iterator[str]:
    by_step = {action.step: action for action in actions}
    calls = []
    for step, restored_by in pairs.items():
        change = by_step[step]
        assert isinstance(change, SetCompatibility | SetMode)
        restore = by_step.get(restored_by or 0)
        what = "mode" if isinstance(change, SetMode) else "compatibility"
        path = path_of("mode" if what == "mode" else "config", change.subject)
        yield ""
        yield f"changed_{step}="
        yield f"put_back_{step}() {{"
        restore = restore if isinstance(restore, RestoreCompatibility | RestoreMode) else change
        yield from _restoring(restore, path)
        yield from _looking(change, restore, path)
        yield "}"
        calls.append(
            f'    again "$changed_{step}" put_back_{step} {quote(f"The {what} of {path_of(change.subject)[1:]}")}'
        )
    yield ""
    yield "# put_back CODE: ends the script with this exit code."
    yield "put_back() {"
    yield "    trap '' HUP INT QUIT ABRT PIPE ALRM TERM USR1 USR2"
    yield "    trap - EXIT"
    yield "    set +e"
    yield "    ended=$1"
    yield from reversed(calls)
    yield '    exit "$ended"'
    yield "}"
    yield ""


def _restoring(action: _Changes | _Restores, path: str, otherwise: str = " || return 1") -> Iterator[str]:
    previous = action.previous
    if previous is None:
        yield f'send DELETE {quote(path)} </dev/null || [ "$status" = 404 ]{otherwise}'
    elif isinstance(previous, str):
        yield from _sent("PUT", path, {"mode": previous}, otherwise)
    else:
        yield from _sent("PUT", path, restored_fields(previous), otherwise)


def _looking(change: _Changes, restore: _Changes | _Restores, path: str) -> Iterator[str]:
    """Asks the registry, because an answer alone proves nothing; not if the old value is the same as the new one."""
    key, value = ("mode", change.mode) if isinstance(change, SetMode) else ("compatibilityLevel", change.level)
    previous = restore.previous if isinstance(restore.previous, str | None) else level_of(restore.previous)
    if previous != value:
        yield f"is_back {quote(path)} {key} {quote(foreign(value))}"


def _commands(action: Action, actions: Sequence[Action], pairs: Mapping[int, int | None]) -> Iterator[str]:
    match action:
        case SetCompatibility():
            yield f"changed_{action.step}=yes"
            yield from _sent("PUT", path_of("config", action.subject), relaxed_fields(action), _unless_refused(action))
        case SetMode():
            yield f"changed_{action.step}=yes"
            path = f"{path_of('mode', action.subject)}?force=true"
            yield from _sent("PUT", path, {"mode": action.mode}, _unless_refused(action))
        case Register():
            more: dict[str, Json] = {"id": int(action.schema_id)} if action.exact else {}
            yield from _sent("POST", path_of("subjects", action.subject, "versions"), _body(action.schema, more))
            yield "given=$(number id)"
            yield 'must_be_there "$given" id' if action.any_id else f'must_be "$given" {action.schema_id}'
            yield from _sent("POST", path_of("subjects", action.subject), _body(action.schema))
            if action.any_id:
                yield 'must_be "$(number id)" "$given"'
            yield f"version_{action.step}=$(number version)"
            yield f'must_be_there "$version_{action.step}" version'
            yield f"printf 'schema id %s is version %s\\n' {action.schema_id} \"$version_{action.step}\""
        case SoftDelete():
            path = quote(path_of("subjects", action.subject, "versions") + "/")
            yield f'send DELETE {path}"$version_{_registered_by(action, actions)}" </dev/null'
        case DeleteVersion():
            yield f"send DELETE {quote(path_of('subjects', action.subject, 'versions', action.version))} </dev/null"
        case RestoreCompatibility() | RestoreMode():
            changed_by = [step for step, restored_by in pairs.items() if restored_by == action.step]
            if changed_by:
                yield f"put_back_{changed_by[0]}"
                yield from (f"changed_{step}=" for step in changed_by)
            else:
                kind = "mode" if isinstance(action, RestoreMode) else "config"
                yield from _restoring(action, path_of(kind, action.subject), otherwise="")
        case _:
            assert_never(action)


def _unless_refused(action: _Changes) -> str:
    return f" || {{ case $status in 4??) changed_{action.step}=refused ;; esac; exit 1; }}"


def _undo(action: Action) -> Iterator[str]:
    match action:
        case Register():
            url = f'"$registry"{quote(path_of("subjects", action.subject, "versions"))}'
            yield f"Delete VERSION, which step {action.step} printed, but only if another subject still holds the id. The"
            yield "second command deletes it for good. Leave out the first one if the version is soft-deleted already:"
            yield f"curl $CURL_OPTIONS -X DELETE {url}/VERSION; curl $CURL_OPTIONS -X DELETE {url}/VERSION?permanent=true"
        case RestoreMode() | RestoreCompatibility():
            yield (
                f"If the script was killed before step {action.step}, run it again with put-back as its second argument"
            )
        case DeleteVersion():
            url = f'"$registry"{quote(path_of("subjects", action.subject, "versions"))}'
            yield f"Register the schema of id {action.schema_id} (GET /schemas/ids/{action.schema_id}) again:"
            yield f"curl $CURL_OPTIONS -X POST {url}"
        case SetCompatibility() | SetMode() | SoftDelete():
            return
        case _:
            assert_never(action)


def _registered_by(action: SoftDelete, actions: Sequence[Action]) -> int:
    if action.registered_by is not None:
        return action.registered_by
    before = (
        a.step
        for a in reversed(actions)
        if isinstance(a, Register)
        and a.step < action.step
        and (a.subject, a.schema_id) == (action.subject, action.schema_id)
    )
    return next(before, 0)


def _sent(method: str, path: str, body: Mapping[str, Json], otherwise: str = "") -> Iterator[str]:
    text = printable_json(json.dumps(body))
    delimiter = _DELIMITER
    while delimiter in text:
        delimiter += "_"
    yield f"send {method} {quote(path)} --data-binary @- <<'{delimiter}'{otherwise}"
    yield text
    yield delimiter


def _body(schema: Schema, more: Mapping[str, Json] = MappingProxyType({})) -> dict[str, Json]:
    body: dict[str, Json] = {"schema": schema.text, **more}
    if schema.schema_type != "AVRO":
        body["schemaType"] = schema.schema_type
    if schema.references:
        body["references"] = [{"name": r.name, "subject": r.subject, "version": r.version} for r in schema.references]
    return body


def _registry(plan: Plan) -> str:
    """The plan's first URL; all but printable ASCII is percent-encoded, because a plan may come from anybody."""
    url = plan.registry.split(",")[0].strip().rstrip("/")
    return percent_encoded(url, safe=_IN_A_URL, errors="surrogatepass")


def _comment(text: str) -> str:
    return foreign(text, _COMMENT)
