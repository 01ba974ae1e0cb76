#!/usr/bin/env bash
# A PJRT plugin rejects the argument struct of a caller that was built with an older header, although the API only appends members.
#
# Version: xla_cpu_pjrt 0.0.1 (PJRT API 0.81). PJRT_Client_Create_Args had 72 bytes in version 0.54.
# Behaviour: the plugin compares `struct_size` with its own size: a smaller struct is an error, and a larger one is accepted. The members that the
# caller lacks are not taken as zero. So a caller has to be as new as its plugin, or pad its structs with zeros.
# Seen: `72 bytes: expected 88, got 72`, `88 bytes: a client`, `216 bytes: a client`.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check --no-input --no-deps xla-cpu-pjrt==0.0.1
cd "$work"
cat > program.py <<'PROGRAM'
import ctypes
import glob
import re
import sys

library = ctypes.CDLL(glob.glob(sys.prefix + "/**/xla_cpu_pjrt*.so", recursive=True)[0])
library.GetPjrtApi.restype = ctypes.c_void_p
# The table has five words before its functions: its size, extensions, and the size, extensions and numbers of the version.
WORDS = 5
ERROR_MESSAGE, PLUGIN_INITIALIZE, CLIENT_CREATE = 1, 3, 10
table = ctypes.cast(library.GetPjrtApi(), ctypes.POINTER(ctypes.c_void_p))
function = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)


def call(index, size, *words):
    buffer = (ctypes.c_size_t * 40)(size, 0, *words)
    return function(table[WORDS + index])(ctypes.addressof(buffer)), buffer


call(PLUGIN_INITIALIZE, 16)
for size in (72, 88, 216):
    error, _ = call(CLIENT_CREATE, size)
    if error:
        _, message = call(ERROR_MESSAGE, 40, error)
        text = ctypes.string_at(message[3], message[4]).decode()
        print(f"{size} bytes: " + re.search(r"expected \d+, got \d+", text)[0])
    else:
        print(f"{size} bytes: a client")
PROGRAM
"$work/venv/bin/python" program.py > seen.txt 2> errors.txt || { cat errors.txt; exit 1; }
cat seen.txt
diff - seen.txt <<'SEEN'
72 bytes: expected 88, got 72
88 bytes: a client
216 bytes: a client
SEEN
echo "as described"
