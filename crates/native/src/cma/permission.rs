//! Probes if the system has the call and lets processes use it.

use ipcmark_transport::Availability;

use super::copy::copy;
use crate::traceable;

/// The expected availability.
pub(super) fn probe() -> Availability {
    traceable::probe(call_refused)
}

/// The reason why the call fails. A process may always read itself, unless the call is missing or a filter refuses it.
fn call_refused() -> Option<String> {
    let (source, mut target) = (7_u64, [0; 8]);
    let at = (&raw const source).expose_provenance() as u64;
    let error = copy(std::process::id() as libc::pid_t, at, &mut target).err()?;
    let [.., cause] = error.parts();
    Some(format!("process_vm_readv is refused: {cause}"))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_process_may_read_itself_if_the_call_exists() {
        assert_eq!(call_refused(), None);
    }
}
