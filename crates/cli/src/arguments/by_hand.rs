//! Flags of the leader and the follower of a run by hand.

use std::{collections::BTreeMap, path::PathBuf};

use clap::Args;

/// The address of a leader.
#[derive(Args, Default)]
pub(crate) struct LeaderLocation {
    /// Unix socket to wait for followers at [default: leader.sock in a directory of this user]
    #[arg(long, value_name = "PATH", conflicts_with = "listen")]
    pub socket: Option<PathBuf>,

    /// Accept this user's followers at the socket too, beside your own and root's; a name or a number
    #[arg(long, value_name = "USER,…", value_delimiter = ',', conflicts_with = "listen")]
    pub allow_user: Vec<String>,

    /// Wait for followers on other hosts here; --secret is needed
    #[arg(long, value_name = "ADDRESS:PORT", requires = "secret")]
    pub listen: Option<String>,

    /// File with the secret that followers must know, one line of 16 characters or more
    #[arg(long, value_name = "FILE")]
    pub secret: Option<PathBuf>,
}

/// A follower: the address of its leader. The leader sends everything else.
#[derive(Args)]
#[command(args_override_self = true)]
pub(crate) struct FollowerArguments {
    /// Unix socket of the leader [default: leader.sock in a directory of this user]
    #[arg(long, value_name = "PATH", conflicts_with = "connect")]
    pub socket: Option<PathBuf>,

    /// Serve this user's leader at the socket too, beside your own and root's; a name or a number
    #[arg(long, value_name = "USER,…", value_delimiter = ',', conflicts_with = "connect")]
    pub allow_user: Vec<String>,

    /// Address of a leader on another host; --secret is needed
    #[arg(long, value_name = "ADDRESS:PORT", requires = "secret")]
    pub connect: Option<String>,

    /// File with the secret that the leader has too
    #[arg(long, value_name = "FILE", requires = "connect")]
    pub secret: Option<PathBuf>,

    /// An option that names a file of this host; the leader sets all others
    #[arg(long, value_name = "TRANSPORT.KEY=VALUE", value_delimiter = ',')]
    pub set: Vec<String>,

    /// Only listen: answer no measured message. At least one other follower must answer
    #[arg(long)]
    pub silent: bool,

    /// Serve one leader after another until interrupted
    #[arg(long)]
    pub forever: bool,

    /// Processor to run on when the leader is on another host; otherwise the leader chooses
    #[arg(long, value_name = "CPU", requires = "connect")]
    pub cpu: Option<u32>,

    /// A module of transports to load beside those that are found
    #[arg(long, value_name = "PATH.so")]
    pub module: Vec<PathBuf>,
    /// Options that must match the leader's, where the leader has them
    #[arg(skip)]
    pub terms: BTreeMap<String, String>,
}

impl FollowerArguments {
    /// A follower that gets its leader's address elsewhere, with these modules besides those that
    /// are found.
    pub(crate) fn plain(module: &[PathBuf]) -> Self {
        Self {
            socket: None,
            allow_user: Vec::new(),
            connect: None,
            secret: None,
            set: Vec::new(),
            silent: false,
            forever: false,
            cpu: None,
            module: module.to_vec(),
            terms: BTreeMap::new(),
        }
    }
}
