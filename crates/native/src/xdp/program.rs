//! The XDP program of an end: it redirects frames of our kind into the socket that its map has, and drops others,
//! such as the neighbour discovery of IPv6.

use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use nix::errno::Errno;

/// The kind of our frames: the first of the two that IEEE 802 leaves to local experiments.
pub const KIND: [u8; 2] = [0x88, 0xb5];

/// Numbers of `linux/bpf.h`, which the crate lacks.
const BPF_MAP_CREATE: libc::c_long = 0;
const BPF_MAP_UPDATE_ELEM: libc::c_long = 2;
const BPF_PROG_LOAD: libc::c_long = 5;
const BPF_MAP_TYPE_XSKMAP: u32 = 17;
const BPF_PROG_TYPE_XDP: u32 = 6;
const BPF_FUNC_REDIRECT_MAP: i32 = 51;
const BPF_PSEUDO_MAP_FD: u8 = 1;
const XDP_DROP: i32 = 1;

/// One instruction.
#[derive(Clone, Copy)]
#[repr(C)]
struct Instruction {
    code: u8,
    /// The target's register in the low four bits, the source's in the others.
    registers: u8,
    offset: i16,
    number: i32,
}

const fn instruction(code: u8, to: u8, from: u8, offset: i16, number: i32) -> Instruction {
    Instruction { code, registers: from << 4 | to, offset, number }
}

/// The program: `if (data + 14 > data_end || kind != KIND) return XDP_DROP; return redirect_map(map, 0, XDP_DROP);`
fn instructions(map: i32) -> [Instruction; 14] {
    const LOAD_WORD: u8 = 0x61;
    const LOAD_HALF: u8 = 0x69;
    const MOVE: u8 = 0xbf;
    const MOVE_NUMBER: u8 = 0xb7;
    const ADD_NUMBER: u8 = 0x07;
    const JUMP_GREATER: u8 = 0x2d;
    const JUMP_UNEQUAL_NUMBER: u8 = 0x55;
    const LOAD_MAP: u8 = 0x18;
    const CALL: u8 = 0x85;
    const EXIT: u8 = 0x95;
    let kind = i32::from(u16::from_ne_bytes(KIND));
    [
        instruction(MOVE_NUMBER, 0, 0, 0, XDP_DROP),
        instruction(LOAD_WORD, 2, 1, 0, 0),
        instruction(LOAD_WORD, 3, 1, 4, 0),
        instruction(MOVE, 4, 2, 0, 0),
        instruction(ADD_NUMBER, 4, 0, 0, 14),
        instruction(JUMP_GREATER, 4, 3, 7, 0),
        instruction(LOAD_HALF, 5, 2, 12, 0),
        instruction(JUMP_UNEQUAL_NUMBER, 5, 0, 5, kind),
        instruction(LOAD_MAP, 1, BPF_PSEUDO_MAP_FD, 0, map),
        instruction(0, 0, 0, 0, 0),
        instruction(MOVE_NUMBER, 2, 0, 0, 0),
        instruction(MOVE_NUMBER, 3, 0, 0, XDP_DROP),
        instruction(CALL, 0, 0, 0, BPF_FUNC_REDIRECT_MAP),
        instruction(EXIT, 0, 0, 0, 0),
    ]
}

/// A map with a place for one socket.
pub fn map() -> Result<OwnedFd, Errno> {
    #[repr(C)]
    struct Attributes {
        kind: u32,
        key_size: u32,
        value_size: u32,
        entries: u32,
        flags: u32,
    }
    let (kind, key_size, value_size, entries) = (BPF_MAP_TYPE_XSKMAP, 4, 4, 1);
    descriptor(BPF_MAP_CREATE, &Attributes { kind, key_size, value_size, entries, flags: 0 })
}

/// The program for a map.
pub fn load(map: BorrowedFd<'_>) -> Result<OwnedFd, Errno> {
    #[repr(C)]
    struct Attributes {
        kind: u32,
        count: u32,
        instructions: u64,
        license: u64,
        log_level: u32,
        log_size: u32,
        log: u64,
        kernel_version: u32,
        flags: u32,
    }
    let program = instructions(map.as_raw_fd());
    let address = |at: *const u8| at.expose_provenance() as u64;
    descriptor(
        BPF_PROG_LOAD,
        &Attributes {
            kind: BPF_PROG_TYPE_XDP,
            count: program.len() as u32,
            instructions: address(program.as_ptr().cast()),
            license: address(c"Dual MIT/GPL".as_ptr().cast()),
            log_level: 0,
            log_size: 0,
            log: 0,
            kernel_version: 0,
            flags: 0,
        },
    )
}

/// Puts a socket that is set up into a map.
pub fn insert(map: BorrowedFd<'_>, socket: BorrowedFd<'_>) -> Result<(), Errno> {
    #[repr(C)]
    struct Attributes {
        map: u32,
        padding: u32,
        key: u64,
        value: u64,
        flags: u64,
    }
    let (key, value) = (0_u32, socket.as_raw_fd());
    let attributes = Attributes {
        map: map.as_raw_fd() as u32,
        padding: 0,
        key: (&raw const key).expose_provenance() as u64,
        value: (&raw const value).expose_provenance() as u64,
        flags: 0,
    };
    bpf(BPF_MAP_UPDATE_ELEM, &attributes).map(drop)
}

fn descriptor<T>(command: libc::c_long, attributes: &T) -> Result<OwnedFd, Errno> {
    let fd = bpf(command, attributes)?;
    // SAFETY: a new descriptor, which nobody else has.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn bpf<T>(command: libc::c_long, attributes: &T) -> Result<i32, Errno> {
    // SAFETY: attributes of that length, with no padding, which point to what outlives the call.
    let done = unsafe {
        libc::syscall(libc::SYS_bpf, command, std::ptr::from_ref(attributes), size_of::<T>())
    };
    Errno::result(done).map(|number| number as i32)
}
