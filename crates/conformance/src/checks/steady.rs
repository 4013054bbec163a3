//! `steady`: between open and close nothing is allocated, and no buffer page is touched for the
//! first time.

use nix::{
    sys::resource::{UsageWho, getrusage},
    unistd::{SysconfVar, sysconf},
};

use ipcmark_transport::{Definition, Wait};

use crate::check::{Check, one_scenario};
use crate::suite::is_all_ours;
use crate::{context::CheckContext, failure::Failure};

const PAYLOAD: usize = 1 << 20;
/// Page faults that are not the transport's fault: code that runs for the first time, a growing
/// stack.
fn pages_forgiven() -> i64 {
    let page = sysconf(SysconfVar::PAGE_SIZE).ok().flatten().unwrap_or(4096);
    PAYLOAD as i64 / page / 4
}

fn run_process(context: &mut CheckContext<'_>) -> Result<(), Failure> {
    let payload = context.at_most(PAYLOAD);
    let mut end = context.open(payload)?;
    // Runs the code once, without touching the ends of the buffers.
    context.echo(&mut end, &[16, 64, 64, 4000])?;
    context.meet("both are warm")?;
    let (faults, allocations) = (page_faults()?, context.allocations());
    context.echo(&mut end, &[64, 4000, payload, 64, payload, payload - 1, payload])?;
    let allocations = context.allocations() - allocations;
    let faults = page_faults()? - faults;
    context.meet("both have counted")?;
    drop(end);
    nothing_happened(allocations, faults)
}

fn nothing_happened(allocations: u64, faults: i64) -> Result<(), Failure> {
    if allocations > 0 {
        let seen = format!("{allocations} in a few messages");
        return Err(Failure::expected("no allocation between open and close", seen));
    }
    if faults > pages_forgiven() {
        let seen = format!("{faults} page faults in a few messages");
        return Err(Failure::expected("every page of the buffers to be touched in open", seen));
    }
    Ok(())
}

fn page_faults() -> Result<i64, Failure> {
    let usage = getrusage(UsageWho::RUSAGE_SELF)
        .map_err(|errno| Failure::new(format!("cannot read the page faults: {errno}")))?;
    Ok(usage.minor_page_faults())
}

fn exempt(definition: &Definition, _: Wait) -> Option<&'static str> {
    (!is_all_ours(definition))
        .then_some("how a library treats its memory is a part of what is measured")
}

/// Nothing is allocated and no page is touched for the first time between open and close.
pub const STEADY: Check =
    Check { name: "steady", exempt, run_process, run_test: one_scenario, kills: false };

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_allocation_and_an_untouched_buffer_are_detected() {
        nothing_happened(0, pages_forgiven() / 2).unwrap();
        assert!(nothing_happened(1, 0).is_err());
        assert!(nothing_happened(0, 256).is_err());
    }
}
