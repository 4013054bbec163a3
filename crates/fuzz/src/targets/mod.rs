//! The targets: one file each, which ends in its `TARGET`.

mod histogram;
mod leader;
mod module;
mod orders;
mod plan;
mod replies;
mod requests;
mod result;
mod sizes;
mod stranger;
mod tunnel;

use crate::target::Target;

/// Every target.
pub const ALL: &[Target] = &[
    stranger::TARGET,
    leader::TARGET,
    tunnel::TARGET,
    orders::TARGET,
    requests::TARGET,
    replies::TARGET,
    result::TARGET,
    histogram::TARGET,
    plan::TARGET,
    sizes::TARGET,
    module::TARGET,
];
