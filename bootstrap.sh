#!/usr/bin/env bash
# Create or update memem's environment when needed, then run a command in it.
#
# Standard output belongs to the command (the MCP server speaks its protocol there), so messages go to standard error, and
# a run with nothing to do prints none. The script uses bash 3.2 and portable tools only, for macOS.
set -euo pipefail
RETRY_SECONDS=30

usage() {
  cat <<'EOF'
usage: bootstrap.sh                       set up, then start the MCP server on standard input and output
       bootstrap.sh demo [ARG...]         set up, then show memem at work in a fresh vault
       bootstrap.sh shell CMD [ARG...]    set up, then run CMD in the environment
       bootstrap.sh dev CMD [ARG...]      the same with the developer tools
       bootstrap.sh test                  set up with the developer tools, check the import contracts, run the quick tests
       bootstrap.sh test --all            the same with all tests, and with coverage, which slows them down
       bootstrap.sh test PYTEST-ARG...    the same, but pass these arguments to pytest; slow tests are included
       bootstrap.sh begin WHAT [ARG...]   for hooks/memem, while there is no environment: sets up in the background

MEMEM_PYTHON=PATH   the interpreter to build on, 3.11 or newer
MEMEM_SKIP_SYNC=1   install nothing: use the environment, or else the interpreter, as it is
MEMEM_DIR=FOLDER    where bootstrap.log and .capabilities are written (default: ~/.memem)
EOF
}

# On a full disk a message may be lost; the work continues.
say() { printf 'memem: %s\n' "$*" >&2 2>/dev/null || true; }
log() { printf '%s %s\n' "$(date '+%Y-%m-%dT%H:%M:%S%z')" "$*" >&8 2>/dev/null || true; }
die() {
  record_failure "$*"
  say "$*" && exit 1
}

# A background set-up leaves the reason for its failure to the next hook, worded for the user.
record_failure() { [ -z "${background:-}" ] || printf '%s\n' "$*" 2>/dev/null >"$ours/failed.new" || true; }

# Turn a failed step into a reason and advice, from the installers' log of this set-up.
explain() {
  local what=$1 text line last=
  text=$(tail -n 200 "$log_file" 2>/dev/null) || text=
  text=${text##*"setting up $venv"}
  case $text in
    *"No space left"* | *"no space left"* | *"Disk quota exceeded"* | *"isk full"*)
      echo "the disk is full. Free about 500 MB."
      ;;
    *"Permission denied"* | *"ermission error"* | *"Read-only file system"* | *"Operation not permitted"*)
      echo "memem cannot write to $venv. Check its permissions."
      ;;
    *"error sending request"* | *"ailed to fetch"* | *"onnection refused"* | *"onnection reset"* | *"onnection error"* | \
      *"timed out"* | *"name resolution"* | *"dns error"* | *"etwork is unreachable"* | *"ProxyError"* | \
      *"NewConnectionError"* | *"SSLError"* | *"no network"* | *"from versions: none"*)
      echo "the package index cannot be reached. Check the network connection and the proxy settings (HTTPS_PROXY)."
      ;;
    *)
      while IFS= read -r line; do
        case $line in "" | *" failed: "*) ;; *) last=$line ;; esac
      done <<<"$text"
      echo "$what${last:+ (${last:0:200})}. Details: $log_file."
      ;;
  esac
}

die_with_log() {
  local what=$*
  record_failure "$(explain "$what")"
  if is_whole; then
    rm -f "$ours/changing"
    what="$what; the environment was not changed"
  fi
  log "failed: $what"
  say "$what. The end of $log_file:"
  tail -n 15 "$log_file" >&2
  exit 1
}

locate() {
  local script=${BASH_SOURCE[0]} target
  while [ -L "$script" ]; do
    target=$(readlink "$script")
    case $target in /*) script=$target ;; *) script=$(dirname "$script")/$target ;; esac
  done
  root=$(CDPATH='' cd -P -- "$(dirname "$script")" && pwd)
  if [ -n "${CLAUDE_PLUGIN_DATA:-}" ] && [ ! -e "$root/.git" ]; then
    venv=$CLAUDE_PLUGIN_DATA/venv # an installed plugin, whose own folder is another one with every version
  else
    venv=$root/.venv
  fi
  ours=$venv/.memem # marks the environment as made here, and holds what this script knows about it
  home=${MEMEM_DIR:-.memem}
  home=${home#"~/"}
  case $home in /*) ;; *) home=${HOME:-~}/$home ;; esac
  log_file=$home/bootstrap.log
}

# Built for this path (console scripts contain it) and on the requested interpreter, which still exists.
is_usable() {
  local built_venv built_with
  [ -x "$venv/bin/python" ] && [ -f "$ours/built" ] || return 1
  { IFS= read -r built_venv && IFS= read -r built_with && IFS= read -r built_root; } <"$ours/built" || return 1
  [ "$built_venv" = "$venv" ] && [ "${MEMEM_PYTHON:-$built_with}" = "$built_with" ]
}

# The fast path takes no lock and starts no Python. A lock file is copied into the environment once everything in it is
# installed; comparing the text needs no hashing tool, and a half-written copy never matches.
is_current() {
  is_usable && [ "$built_root" = "$root" ] && [ ! -e "$ours/changing" ] &&
    [ -f "$ours/$1" ] && [ "$(<"$ours/$1")" = "$(<"$root/$1")" ]
}

# Usable, though perhaps out of date; hooks/memem checks the same. An update stores its process id in `changing` and
# removes the file at its end: after a killed update a package may be incomplete.
is_complete() {
  local pid
  [ -x "$venv/bin/python" ] && [ -f "$ours/requirements.lock" ] || return 1
  [ ! -e "$ours/changing" ] || { IFS= read -r pid <"$ours/changing" && kill -0 "$pid"; } 2>/dev/null
}

# It was completed once, and everything memem imports can still be imported.
is_whole() {
  [ -f "$ours/requirements.lock" ] &&
    "$venv/bin/python" -I -c 'import frontmatter, ijson, numpy, portalocker, rapidfuzz, rich, yaml' >/dev/null 2>&1
}

# Print the interpreter itself, not the shim or virtual environment that leads to it, since an environment built on
# those breaks with them. Only running it is proof: a pyenv shim exists even for versions that are not installed.
find_python() {
  local name names=("$venv/bin/python" python3.13 python3.12 python3.11 python3 python)
  [ -z "${MEMEM_PYTHON:-}" ] || names=("$MEMEM_PYTHON")
  for name in "${names[@]}"; do
    "$name" -I -c 'import os, sys
print(os.path.realpath(sys._base_executable)) if sys.version_info >= (3, 11) else sys.exit(1)' 2>/dev/null && return
  done
  return 1
}

download_python() {
  local uv found
  [ -z "${MEMEM_PYTHON:-}" ] || die "MEMEM_PYTHON=$MEMEM_PYTHON is not a working Python 3.11 or newer."
  found=$(python3 --version 2>&1) || found="no working python3"
  say "memem needs Python 3.11 or newer and found $found; trying to download one with uv"
  if uv=$(find_uv python3) && "$uv" python install 3.11 >&8 2>&8; then
    "$uv" python find 3.11 2>&8 && return
  fi
  say "that did not work (log: $log_file)"
  die "memem needs Python 3.11 or newer; this computer has $found. Install one from python.org or with your package" \
    "manager, or set MEMEM_PYTHON to the path of one."
}

# Where uv is missing, fetching it with pip and using it takes half the time of pip alone. It is moved into place by
# rename, so a kill never leaves half of it. A Python too old for memem can still run pip.
find_uv() {
  command -v uv && return
  if [ ! -x "$ours/uv/bin/uv" ]; then
    rm -rf "$ours/uv" "$ours/uv.new"
    "$1" -m pip install --quiet --no-input --disable-pip-version-check --retries 1 --only-binary :all: \
      --require-hashes -r "$root/requirements-uv.lock" --target "$ours/uv.new" >&8 2>&8 || return 1
    mv "$ours/uv.new" "$ours/uv"
  fi
  echo "$ours/uv/bin/uv"
}

# Never touch an environment that memem did not create: installing into it would change its owner's versions.
claim_folder() {
  if [ -n "$(ls -A "$venv" 2>/dev/null)" ] && [ ! -d "$ours" ]; then
    die "$venv was not created by memem and was left alone. Rename it, or set MEMEM_SKIP_SYNC=1 to use it as it is."
  fi
  mkdir -p "$ours" || die "cannot create $venv. Check the permissions of its parent folder and the free disk space."
  [ -w "$ours" ] || die "cannot write to $ours. Give yourself write permission and try again."
}

open_log() {
  if ! (umask 077 && mkdir -p "$home" && : >>"$log_file") 2>/dev/null; then
    log_file=$(mktemp "${TMPDIR:-/tmp}/memem-bootstrap.XXXXXX") || log_file=/dev/null
    say "$home is not writable; logging to $log_file"
  elif [ "$(wc -c <"$log_file")" -gt 1000000 ]; then
    (umask 077 && tail -c 200000 "$log_file" >"$log_file.cut" && mv "$log_file.cut" "$log_file")
  fi
  exec 8>>"$log_file"
}

# A kernel lock on a descriptor shared by this shell and its installers. It ends with the last of them, so it is never
# stale. Python takes it because macOS has no flock(1).
take_turn() {
  exec 9>>"$ours/turn"
  "$base" -I - <<'EOF' || exit 1
import fcntl, sys, time
for attempt in range(3000):
    try:
        fcntl.flock(9, fcntl.LOCK_EX | fcntl.LOCK_NB)
        break
    except BlockingIOError:
        if attempt == 0:
            print("memem: another set-up is running; waiting for it", file=sys.stderr, flush=True)
        time.sleep(0.1)
    except OSError:
        break  # a file system without locks
else:
    sys.exit("memem: another set-up has been running for five minutes; try again when it is done")
EOF
}

# A complete environment is updated in place, because servers and hooks keep using it meanwhile. One without the copy of
# a lock file, or still marked as changing now that we hold the lock, was interrupted and is rebuilt.
prepare_venv() {
  if ! is_usable || [ ! -f "$ours/requirements.lock" ] || [ -e "$ours/changing" ]; then
    rm -f "$ours"/*.lock
    find "$venv/" -mindepth 1 -maxdepth 1 ! -name .memem -exec rm -rf {} +
    "$base" -I -m venv --without-pip "$venv" >&8 2>&8 || die_with_log "cannot create an environment with $base"
  fi
  printf '%s\n' "$$" >"$ours/changing" || die_with_log "cannot write to $ours"
}

# A lock file is complete, so nothing needs resolving. Some pips would otherwise pick a newer release of a package that
# another one requires with an extra, and then refuse it for its missing hash.
install() {
  local uv pip=("$base" -m pip --python "$venv/bin/python") locked=(--no-deps --require-hashes -r "$lock")
  installer=uv
  if uv=$(find_uv "$base"); then
    "$uv" pip install --python "$venv/bin/python" "${locked[@]}" >&8 2>&8 && return
    log "uv failed; trying pip, which may know of indexes and certificates that uv does not"
  fi
  installer=pip
  if ! "$base" -m pip --version >&8 2>&8; then
    "$venv/bin/python" -m ensurepip >&8 2>&8 ||
      die_with_log "$base has no pip (Debian, Ubuntu: apt install python3-venv, or install uv)"
    pip=("$venv/bin/python" -m pip)
  fi
  "${pip[@]}" install --no-input --disable-pip-version-check "${locked[@]}" >&8 2>&8 ||
    die_with_log "cannot install the packages listed in $lock"
}

# memem is neither built nor copied; the environment points to this folder.
link_project() {
  "$venv/bin/python" -I - "$venv" "$root" <<'EOF' >&8 2>&8 || die_with_log "cannot link $root into $venv"
import os, pathlib, shlex, sys, sysconfig
venv, root = sys.argv[1:]
pathlib.Path(sysconfig.get_path("purelib"), "memem.pth").write_bytes(os.fsencode(root) + b"\n")
python, line = f"{shlex.quote(venv)}/bin/python", shlex.quote(f"{root}/memem/doors/hook/statusline.py")
command = pathlib.Path(venv, "bin", "memem")
command.write_bytes(os.fsencode(f"""#!/bin/sh
if [ "$*" = statusline ] && [ -f {line} ]; then exec {python} -I -S {line}; fi
exec {python} -I -m memem "$@"
"""))
command.chmod(0o755)
EOF
}

write_capabilities() {
  "$venv/bin/python" -I - "$home/.capabilities" "$installer" "$lock" "$venv" <<'EOF' >&8 2>&8 || log "no .capabilities"
import json, os, platform, sqlite3, sys
target, installer, lock, venv = sys.argv[1:]
try:
    sqlite3.connect(":memory:").execute("CREATE VIRTUAL TABLE probe USING fts5(text)")
    fts5 = True
except sqlite3.OperationalError:
    fts5 = False
profile = "dev" if lock == "requirements-dev.lock" else "runtime"
facts = dict(python=platform.python_version(), installer=installer, profile=profile, venv=venv, fts5=fts5)
os.umask(0o077)
with open(target + ".new", "w", encoding="utf-8", errors="replace") as file:
    file.writelines(f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in facts.items())
os.replace(target + ".new", target)
EOF
}

# Without the model memem uses keywords alone and says so; that is no reason to stop.
fetch_model() {
  say "downloading the embedding model (91 MB, once; MEMEM_ENCODER=none skips it)"
  "$venv/bin/python" -P -m memem index model fetch >&8 || say "continuing without it; \`$(printf %q "$venv/bin/memem") index model fetch\` tries again"
}

# The developer lock includes the runtime lock; installing only the latter may break the developer environment.
finish_venv() {
  printf '%s\n' "$venv" "${MEMEM_PYTHON:-}" "$root" >"$ours/built" &&
    rm -f "$ours/requirements-dev.lock" && cp "$lock" "$ours/" && cp requirements.lock "$ours/" &&
    rm -f "$ours/changing" || return 1
  [ -z "${background:-}" ] || : >"$ours/ready-untold" || true
  rm -f "$ours"/failed* "$ours/told" "$home/.set-up-told" || true
}

sync_venv() {
  local lock=$1 base installer
  cd "$root" # uv obeys the settings of the project it is started in
  unset PYTHONHOME PYTHONPATH # which are about other Pythons
  claim_folder
  open_log
  base=$(find_python) || base=$(download_python) || exit 1
  take_turn
  if is_current "$lock"; then return; fi
  say "setting up $venv (log: $log_file)"
  log "setting up $venv for $root from $lock on $base"
  prepare_venv
  install
  link_project
  write_capabilities
  finish_venv || die_with_log "cannot write to $ours"
  fetch_model
  log "ready; installed with $installer"
}

# Claude Code never waits for a set-up. Running in a process group of its own, ignoring hang-ups and without the caller's
# streams, it outlives the session that started it. It stores the reason in `failed` when it fails.
set_up_away() {
  if is_under_way || has_just_failed; then return; fi
  open_log
  rm -f "$ours/failed.new"
  set -m
  (
    trap '' HUP
    if ! "$BASH" "$root/bootstrap.sh" begin --install >&8 2>&8; then
      [ -s "$ours/failed.new" ] || explain "the set-up was interrupted" >"$ours/failed.new"
      mv -f "$ours/failed.new" "$ours/failed" || : >"$ours/failed"
      date '+%s' >"$ours/failed-at"
    else
      rm -f "$ours"/failed*
    fi
    rm -f "$ours/under-way"
  ) </dev/null >/dev/null 2>&1 &
  printf '%s\n' "$!" >"$ours/under-way" || true
  set +m
}

# A process id counts only while it is recent, because ids are reused.
is_under_way() {
  local pid
  [ -n "$(find "$ours/under-way" -mmin -30 2>/dev/null)" ] && IFS= read -r pid <"$ours/under-way" &&
    kill -0 "$pid" 2>/dev/null
}

# Where the environment's folder is read-only, the last message to the user is the only record.
has_failed() {
  [ -e "$ours/failed" ] || case $(cat "$home/.set-up-told" 2>/dev/null) in failed*) ;; *) false ;; esac
}

has_just_failed() {
  local failed_at now
  [ -e "$ours/failed" ] && failed_at=$(cat "$ours/failed-at" 2>/dev/null) && now=$(date '+%s') || return 1
  case $failed_at in "" | *[!0-9]*) return 1 ;; esac
  [ "$failed_at" -le "$now" ] && [ $((now - failed_at)) -lt "$RETRY_SECONDS" ]
}

# Print hook output that shows a message to the user.
tell() { printf '{"systemMessage": "%s"}\n' "$(json_text "$1")"; }

json_text() {
  local text=${1//[[:cntrl:]]/ }
  text=${text//\\/\\\\}
  printf '%s' "${text//\"/\\\"}"
}

# Start a set-up unless one is running or has just failed. Set $failure to the reason why there is no environment and the
# advice for the user; it is empty while the first set-up is running.
start_set_up() {
  if ! failure=$( (claim_folder) 2>&1); then
    failure=${failure##*$'\n'}
    failure=${failure#memem: }
    return
  fi
  set_up_away
  failure=
  if [ -e "$ours/failed" ]; then
    failure=$(cat "$ours/failed" 2>/dev/null) || true
    failure=${failure:-"the disk may be full, or memem cannot write to $venv."}
  fi
}

# Print a line for the user when a set-up starts, when it fails, and when the reason for the failure changes. A session
# started by a script prints it at its start and leaves it for the user as well.
begin_session() {
  local state message told=$ours/told
  start_set_up
  if [ "${MEMEM_NOTICES:-}" = off ]; then return; fi
  if [ -n "$failure" ]; then
    state="failed $failure"
    message="memem could not be set up: $failure memem retries automatically; memory works once the cause is fixed."
  else
    state="running $(cat "$ours/under-way" 2>/dev/null)" || true
    message="memem is being set up in the background (about a minute). Claude will see your memories once it is ready."
  fi
  { [ -d "$ours" ] && [ -w "$ours" ]; } || told=$home/.set-up-told
  if [ "$(cat "$told" 2>/dev/null)" = "$state" ]; then return; fi
  case ${CLAUDE_CODE_ENTRYPOINT:-} in
    sdk*)
      [ "$1" != SessionStart ] || tell "$message"
      return
      ;;
  esac
  (umask 077 && mkdir -p "$home" && printf '%s\n' "$state" >"$told") 2>/dev/null || [ "$1" = SessionStart ] || return 0
  tell "$message"
}

# For a slash command: Claude Code could stop it halfway, and Claude reads its output.
begin_command() {
  start_set_up
  if [ -n "$failure" ]; then
    echo "memem could not be set up: $failure memem retries in the background; try again in a minute."
  else
    echo "memem is being set up in the background (log: $log_file). Try again in a minute."
  fi
}

# Print the path of any Python that can run the server's loop. A pyenv shim runs once, to find the program behind it.
find_any_python() {
  local name
  for name in ${MEMEM_PYTHON:+"$MEMEM_PYTHON"} python3 python3.13 python3.12 python3.11 python; do
    command -v "$name" >/dev/null || continue
    "$name" -I -S -c 'import sys
print(sys.executable) if sys.version_info >= (3, 6) else sys.exit(1)' </dev/null 2>/dev/null && return
  done
  return 1
}

# The server answers at once and sets up in the background: Claude Code gives up after 30 s, and then for 15 minutes.
begin_server() {
  local python first rest started initialized=
  while :; do
    if python=$(find_any_python); then
      exec "$python" -I -S "$root/memem/serve.py" --waiting "$venv" $initialized
    fi
    start_set_up 2>/dev/null
    # Only the first character has a timeout: bash 3.2 discards its input when the time is up.
    first='' rest='' started=$SECONDS
    if IFS= read -r -t 3 -n 1 first; then
      [ -z "$first" ] || IFS= read -r rest || exit 0
      answer_without_python "$first$rest"
    elif [ $((SECONDS - started)) -lt 2 ]; then
      exit 0 # bash 3.2 has one status for a timeout and for the end of the input
    fi
  done
}

# Answer one line of the client. The message's own id is either the last one in it or precedes everything else.
answer_without_python() {
  local line=$1 id method='' version=2025-11-25 failed
  local id_last='"id": *("[^"]*"|[0-9]+) *[}] *$' id_first='^ *[{]("jsonrpc": *"2.0", *)?"id": *("[^"]*"|[0-9]+) *,'
  local with_method='"method": *"([A-Za-z/_]+)"' with_version='"protocolVersion": *"([0-9-]+)"'
  if [[ $line =~ $id_last ]]; then
    id=${BASH_REMATCH[1]}
  elif [[ $line =~ $id_first ]]; then
    id=${BASH_REMATCH[2]}
  else
    return 0 # a notification
  fi
  if [[ $line =~ $with_method ]]; then method=${BASH_REMATCH[1]}; fi
  case $method in
    initialize)
      if [[ $line =~ $with_version ]]; then version=${BASH_REMATCH[1]}; fi
      initialized=--initialized
      answer "$id" '{"protocolVersion":"'"$version"'","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"memem","version":"0"}}'
      ;;
    ping) answer "$id" '{}' ;;
    tools/list) answer "$id" '{"tools":[]}' ;;
    tools/call)
      failed=$(json_text "memem could not be set up: ${failure:-Python 3 is missing. Install Python 3.11 or newer, or set MEMEM_PYTHON to its path.}")
      answer "$id" '{"content":[{"type":"text","text":"'"$failed"'"}],"isError":true}'
      ;;
    *) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Unknown method"}}\n' "$id" ;;
  esac
}

answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$1" "$2"; }

# Mark an environment that looks complete but has lost a package as incomplete, so that it is rebuilt. This is too slow
# for anything but a command typed by hand; doctor and the server name that command.
require_whole() {
  locate
  if [ "${MEMEM_SKIP_SYNC:-}" != 1 ] && is_current requirements.lock && ! is_whole; then
    rm -f "$ours/requirements.lock" || die "cannot write to $ours. Check its permissions and try again."
  fi
}

# Set $python to the interpreter and $alone to its options, and put its folder first on PATH. Our own environment ignores
# variables set for other Pythons, and modules in the current folder.
set_up() {
  locate
  python=$venv/bin/python
  alone=-I
  if [ "${MEMEM_SKIP_SYNC:-}" = 1 ]; then
    [ -x "$python" ] || python=$(find_python) || die "no Python 3.11 or newer found. Install one, or set MEMEM_PYTHON to its path."
    export PYTHONPATH="$root${PYTHONPATH:+:$PYTHONPATH}"
    alone=-P
  elif ! is_current "$1"; then
    (sync_venv "$1") </dev/null >&2
    is_current "$1" || exit 1 # before bash 4, -e does not see a subshell fail
  fi
  PATH=${python%/*}:$PATH
}

# Hooks succeed and keep standard error empty, whatever cannot be written.
begin() {
  locate
  if [ "$1" = hook ]; then
    trap 'exit 0' EXIT
    exec 2>/dev/null # for good: what is only put aside for a function is kept open by what it starts
    case ${MEMEM_SKIP_SYNC:-}${MEMEM_HOOKS_OFF:-}${2-} in
      SessionStart | UserPromptSubmit) begin_session "$2" || true ;;
    esac
    exit 0
  fi
  if [ "${MEMEM_SKIP_SYNC:-}" = 1 ]; then
    set_up requirements.lock
    exec "$python" "$alone" "$root/memem/__main__.py" "$@"
  elif [ "$1" = statusline ]; then
    if has_failed; then echo "memem: set-up failed; /memem-doctor"; else echo "memem: being set up"; fi
  elif [ "$1" = serve ]; then
    begin_server
  elif [ "$1" = --set-up ]; then # the server's loop asks for it, and reads why not
    start_set_up 2>/dev/null
    if [ ! -d "$ours" ] || [ ! -w "$ours" ]; then printf '%s\n' "$failure"; fi
  elif [ "$1" = --install ]; then
    background=1
    set_up requirements.lock
  else
    begin_command
  fi
}

main() {
  local verb=${1-serve} workers
  [ $# -eq 0 ] || shift
  case $verb in
    serve | demo)
      set_up requirements.lock
      exec "$python" "$alone" -m memem "$verb" "$@"
      ;;
    begin)
      [ $# -gt 0 ] || { usage >&2 && exit 2; }
      begin "$@"
      ;;
    shell | dev)
      [ $# -gt 0 ] || { usage >&2 && exit 2; }
      if [ "$verb" = dev ]; then
        set_up requirements-dev.lock
      else
        require_whole
        set_up requirements.lock
      fi
      exec "$@"
      ;;
    test)
      set_up requirements-dev.lock
      cd "$root"
      lint-imports
      # Tests have a home of their own; those with the real model read only its weights from the user's home.
      MEMEM_TEST_WEIGHTS=${MEMEM_TEST_WEIGHTS-$("$python" -P -m memem index model path 2>/dev/null)} || true
      export MEMEM_TEST_WEIGHTS
      # Tests often wait for processes and disks, so use one worker more than there are cores.
      workers=${PYTEST_XDIST_AUTO_NUM_WORKERS:-$(($(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1) + 1))}
      if [ $# -eq 0 ]; then
        set -- -n "$workers" --dist worksteal --quick
      elif [ "$1" = --all ]; then
        shift
        set -- -n "$workers" --dist worksteal --cov=memem --cov-report=term --cov-fail-under=90 "$@"
      fi
      unset PYTHONDONTWRITEBYTECODE # they start thousands of processes, each of which would compile all it imports
      exec python -m pytest "$@"
      ;;
    -h | --help) usage ;;
    *) usage >&2 && exit 2 ;;
  esac
}

main "$@"
