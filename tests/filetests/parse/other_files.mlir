// Files of other formats are reported by the name of the format.
// RUN: printf 'HloModule jit_f\n' > %t.hlo
// RUN: not shardc opt %t.hlo 2>&1 | FileCheck --check-prefix=HLO %s
// RUN: printf '\037\213\010\000' > %t.gz
// RUN: not shardc opt %t.gz 2>&1 | FileCheck --check-prefix=GZ %s
// RUN: printf 'import jax\n' > %t.py
// RUN: not shardc opt %t.py 2>&1 | FileCheck --check-prefix=PY %s
// RUN: printf '' > %t.empty
// RUN: not shardc partition %t.empty -o %t.out 2>&1 | FileCheck --check-prefix=EMPTY %s

// HLO: error[SH0191]: the input is HLO text, not StableHLO
// GZ: error[SH0191]: the input is a gzip archive, not StableHLO
// GZ: help: unpack it first
// PY: error[SH0191]: the input is a Python or shell script, not StableHLO
// EMPTY: error[SH0301]: the program is empty: it has no functions
