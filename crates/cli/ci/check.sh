#!/usr/bin/env bash
# Checks StableHLO programs, for the pre-commit hooks and the GitHub action:
#   check.sh lint [OPTION...] FILE...    lints each program
#   check.sh diff [OPTION...] FILE...    compares each program with the snapshot beside it: step.mlir with step.snapshot
# Options are those of `shardc lint` and `shardc diff`. All files are checked before the script fails.
set -uo pipefail
mode=$1
shift
options=()
files=()
for argument in "$@"; do
  if [ -f "$argument" ]; then files+=("$argument"); else options+=("$argument"); fi
done
if [ ${#files[@]} -eq 0 ]; then
  echo "check.sh: none of the arguments is a file: ${options[*]-}; give the paths of programs, such as models/*.mlir" >&2
  exit 2
fi
status=0
for file in ${files[@]+"${files[@]}"}; do
  case $mode in
    lint)
      shardc lint ${options[@]+"${options[@]}"} "$file" || status=1
      ;;
    diff)
      snapshot=${file%.*}.snapshot
      if [ ! -f "$snapshot" ]; then
        echo "$file: no snapshot; write one with: shardc snapshot $file > $snapshot"
      elif ! shardc diff ${options[@]+"${options[@]}"} "$snapshot" "$file"; then
        status=1
      fi
      ;;
    *)
      echo "check.sh: lint or diff, not $mode" >&2
      exit 2
      ;;
  esac
done
exit $status
