//! Pickle opcodes.

pub(crate) const MARK: u8 = b'(';
pub(crate) const STOP: u8 = b'.';
pub(crate) const BININT: u8 = b'J';
pub(crate) const BININT1: u8 = b'K';
pub(crate) const BININT2: u8 = b'M';
pub(crate) const LONG1: u8 = 0x8a;
pub(crate) const BINFLOAT: u8 = b'G';
pub(crate) const NONE: u8 = b'N';
pub(crate) const NEWTRUE: u8 = 0x88;
pub(crate) const NEWFALSE: u8 = 0x89;
pub(crate) const BINUNICODE: u8 = b'X';
pub(crate) const EMPTY_LIST: u8 = b']';
pub(crate) const APPEND: u8 = b'a';
pub(crate) const APPENDS: u8 = b'e';
pub(crate) const EMPTY_TUPLE: u8 = b')';
pub(crate) const TUPLE: u8 = b't';
pub(crate) const TUPLE1: u8 = 0x85;
pub(crate) const TUPLE2: u8 = 0x86;
pub(crate) const TUPLE3: u8 = 0x87;
pub(crate) const EMPTY_DICT: u8 = b'}';
pub(crate) const SETITEM: u8 = b's';
pub(crate) const SETITEMS: u8 = b'u';
pub(crate) const BINPUT: u8 = b'q';
pub(crate) const LONG_BINPUT: u8 = b'r';
pub(crate) const BINGET: u8 = b'h';
pub(crate) const LONG_BINGET: u8 = b'j';
pub(crate) const GLOBAL: u8 = b'c';
pub(crate) const REDUCE: u8 = b'R';
pub(crate) const BUILD: u8 = b'b';
pub(crate) const BINPERSID: u8 = b'Q';
pub(crate) const PROTO: u8 = 0x80;
// The following opcodes occur only in metadata pickles.
pub(crate) const NEWOBJ: u8 = 0x81;
pub(crate) const SHORT_BINUNICODE: u8 = 0x8c;
pub(crate) const STACK_GLOBAL: u8 = 0x93;
pub(crate) const MEMOIZE: u8 = 0x94;
pub(crate) const FRAME: u8 = 0x95;

/// Returns the name in Python's `pickletools` of an unsupported opcode.
pub(crate) fn name(opcode: u8) -> String {
    let known = match opcode {
        b'i' => "INST",
        b'o' => "OBJ",
        0x81 => "NEWOBJ",
        0x92 => "NEWOBJ_EX",
        0x93 => "STACK_GLOBAL",
        0x82 => "EXT1",
        0x83 => "EXT2",
        0x84 => "EXT4",
        b'P' => "PERSID",
        b'I' => "INT",
        b'L' => "LONG",
        0x8b => "LONG4",
        b'F' => "FLOAT",
        b'S' => "STRING",
        b'T' => "BINSTRING",
        b'U' => "SHORT_BINSTRING",
        b'B' => "BINBYTES",
        b'C' => "SHORT_BINBYTES",
        b'V' => "UNICODE",
        b'd' => "DICT",
        b'l' => "LIST",
        b'0' => "POP",
        b'1' => "POP_MARK",
        b'2' => "DUP",
        b'p' => "PUT",
        b'g' => "GET",
        0x8c => "SHORT_BINUNICODE",
        0x8d => "BINUNICODE8",
        0x8f => "EMPTY_SET",
        0x94 => "MEMOIZE",
        0x95 => "FRAME",
        _ => return format!("{opcode:#04x}"),
    };
    format!("{known} ({opcode:#04x})")
}
