//! Requirements on a transport besides figures, checked before and after it is measured.

use ipcmark_results::{Row, daemons};
use ipcmark_transport::{Definition, FanOut, Span};

use super::arguments::Need;

/// The reason why a transport cannot be the answer, or the requirement that it does not meet, in words; known
/// before the measurement.
pub(super) fn unmet(needs: &[Need], definition: &Definition) -> Option<&'static str> {
    let can = &definition.capabilities;
    if can.span == Span::Thread {
        return Some("its ends are threads of one process");
    }
    needs.iter().find_map(|need| match need {
        Need::CrossHost if !can.crosses_hosts => Some("its ends must be on one host"),
        Need::ManyReaders if can.fan_out() != Some(FanOut::Native) => {
            Some("several receivers need a send each")
        }
        Need::ZeroCopy if !can.loans => Some("a message is copied"),
        Need::Reliable if !can.reliable => Some("it can lose messages"),
        Need::LibraryFree if definition.family != "os" => Some("it needs a library"),
        _ => None,
    })
}

/// The daemons that a row needs although the user excludes them, in words; known from its
/// processes.
pub(super) fn daemon(needs: &[Need], row: &Row) -> Option<String> {
    let daemons = daemons(row);
    let is_refused = needs.contains(&Need::Daemonless) && !daemons.is_empty();
    is_refused.then(|| format!("it needs the daemon {}", daemons.join(" and ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transports_that_do_not_meet_a_need_are_left_out() {
        let registry = ipcmark_registry::native();
        let unmet = |need: Need, name: &str| {
            let found = registry.iter().find(|candidate| candidate.definition().name == name);
            unmet(&[need], found.expect(name).definition())
        };
        assert!(unmet(Need::CrossHost, "tcp").is_none());
        assert!(unmet(Need::CrossHost, "pipe").is_some());
        assert!(unmet(Need::ZeroCopy, "shm-ring").is_none());
        assert!(unmet(Need::ZeroCopy, "pipe").is_some());
        assert!(unmet(Need::Reliable, "udp").is_some());
        assert!(unmet(Need::ManyReaders, "pipe").is_some());
        assert!(unmet(Need::LibraryFree, "pipe").is_none());
    }
}
