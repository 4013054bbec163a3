//! The rows that two plans have in common.

use std::collections::BTreeSet;

use ipcmark_engine::{Plan, PlannedRow, Registry, Slot};
use ipcmark_results::{Identity, Load, Outcome, Touch};
use ipcmark_transport::{Pattern, Wait};

/// The properties that identify a row of one plan in the other.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RowKey {
    transport: String,
    wait: Wait,
    pattern: Pattern,
    payload: u64,
    touch: Touch,
    load: Load,
    followers: (u32, u32),
    pairs: u32,
}

impl RowKey {
    pub(super) fn of_identity(identity: &Identity) -> Self {
        Self {
            transport: identity.transport.clone(),
            wait: identity.wait,
            pattern: identity.pattern,
            payload: identity.payload_bytes,
            touch: identity.touch,
            load: identity.load,
            followers: (identity.subscribers, identity.silent_subscribers),
            pairs: identity.pairs,
        }
    }

    fn of_planned(row: &PlannedRow, plan: &Plan, registry: &Registry) -> Self {
        let session = &plan.sessions[row.session];
        let Slot { pattern, payload, touch, load } = row.slot;
        Self {
            transport: registry[session.transport].definition().name.to_string(),
            wait: session.wait,
            pattern,
            payload: payload as u64,
            touch,
            load,
            followers: (plan.subscribers, plan.silent),
            pairs: plan.pairs,
        }
    }
}

/// The rows of a plan, in its order.
pub(super) fn keys(plan: &Plan, registry: &Registry) -> Vec<RowKey> {
    plan.rows.iter().map(|row| RowKey::of_planned(row, plan, registry)).collect()
}

/// The rows of a plan that can be measured.
pub(super) fn measurable(plan: &Plan, registry: &Registry) -> BTreeSet<RowKey> {
    let rows = keys(plan, registry).into_iter().zip(&plan.rows);
    rows.filter(|(_, row)| row.verdict.is_none()).map(|(key, _)| key).collect()
}

/// Keeps these rows to be measured; the others get a verdict with the reason why they are not.
pub(super) fn restrict(plan: &mut Plan, registry: &Registry, wanted: &BTreeSet<RowKey>) {
    let keys = keys(plan, registry);
    for (row, key) in plan.rows.iter_mut().zip(keys) {
        if row.verdict.is_none() && !wanted.contains(&key) {
            let reason =
                "not measured, because the other plan cannot measure it or does not have it";
            row.verdict = Some(Outcome::Unsupported { reason: reason.into() });
        }
    }
}

/// Removes all other rows from the plan.
pub(super) fn retain(plan: &mut Plan, registry: &Registry, wanted: &BTreeSet<RowKey>) {
    let mut keys = keys(plan, registry).into_iter();
    plan.rows.retain(|_| keys.next().is_some_and(|key| wanted.contains(&key)));
}
