//! Cache lines that are about to be written.

/// Starts to fetch the cache line of this address for writing, and does not wait for it. A store to a line that another
/// processor has read waits until that processor has given it up, and later stores wait behind it; several lines that
/// are fetched together are given up at the same time. It is a hint: any address will do.
#[inline(always)]
pub fn for_writing(address: *const u8) {
    // SAFETY: neither instruction faults, or changes anything that a program can see.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    unsafe {
        std::arch::asm!("prefetchw [{}]", in(reg) address.addr(), options(nomem, nostack, preserves_flags));
    }
    // SAFETY: as above.
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    unsafe {
        std::arch::asm!("prfm pstl1keep, [{}]", in(reg) address.addr(), options(nomem, nostack, preserves_flags));
    }
    #[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
    let _ = address;
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::ptr;

    use super::*;

    #[test]
    fn any_address_will_do() {
        let value = 7;
        for address in [&raw const value, ptr::null(), ptr::without_provenance(usize::MAX)] {
            for_writing(address);
        }
        assert_eq!(value, 7);
    }
}
