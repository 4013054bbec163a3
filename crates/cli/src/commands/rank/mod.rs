//! `ipcmark rank`: the same command on every rank of a launcher that is already there. The first leads, the others
//! follow.

mod launcher;
mod meeting;

use std::{
    env, fs,
    io::Read,
    net::TcpListener,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process::{self, ExitCode},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use clap::Args;
use ipcmark_machine::{pin, topology};

use self::{
    launcher::Rank,
    meeting::{Meeting, Missing},
};
use crate::{
    arguments::{
        by_hand::{FollowerArguments, LeaderPlace},
        plan_file,
        run::RunArguments,
        values,
    },
    by_hand,
    definition::{Definition, Invocation, Outcome},
    guide::Guide,
    interrupts::Interrupts,
    output,
};

/// What a leader takes, and how the ranks find each other.
#[derive(Args)]
#[command(args_override_self = true)]
struct RankArguments {
    /// Directory in which the ranks meet: all must see it, and rank 0 makes it [default: .ipcmark-JOB in the
    /// current directory]
    #[arg(long, value_name = "DIR")]
    rendezvous: Option<PathBuf>,

    /// Name or address at which other hosts reach the host of rank 0 [default: the host's name]
    #[arg(long, value_name = "HOST")]
    address: Option<String>,

    /// How long the ranks wait for each other
    #[arg(long, value_name = "DURATION", value_parser = values::duration, default_value = "60s")]
    meet_within: Duration,

    /// This rank, from 0 [default: what the launcher says]
    #[arg(long, value_name = "N")]
    rank: Option<u32>,

    /// How many ranks there are [default: what the launcher says]
    #[arg(long, value_name = "N")]
    ranks: Option<u32>,

    /// Keep to the processors that the launcher has chosen for each rank
    #[arg(long)]
    keep_binding: bool,

    #[command(flatten)]
    run: RunArguments,
}

/// How long the ranks wait for the last words of each other.
const FAREWELL: Duration = Duration::from_secs(10);

/// What the ranks leave for each other.
const LEADER: &str = "leader";
const SECRET: &str = "secret";
const STATUS: &str = "status";

fn run(invocation: &Invocation<'_>) -> Outcome {
    let mut arguments: RankArguments = plan_file::arguments(invocation)?;
    let rank = Rank::find(arguments.rank, arguments.ranks)?;
    let followers = rank.count - 1;
    if invocation.has("subscribers") && arguments.run.subscribers != followers {
        return Err(format!(
            "{} ranks are a leader and {followers} followers, not {}: leave --subscribers out",
            rank.count, arguments.run.subscribers
        )
        .into());
    }
    arguments.run.subscribers = followers;
    let directory = directory(&arguments, &rank)?;
    if !arguments.keep_binding {
        widen(&rank);
    }
    let interrupts = Interrupts::catch().map_err(|error| error.to_string())?;
    match rank.number {
        0 => lead(&arguments, &rank, directory, &interrupts),
        _ => follow(&arguments, &rank, directory, &interrupts),
    }
}

/// Where the ranks meet.
fn directory(arguments: &RankArguments, rank: &Rank) -> Result<PathBuf, String> {
    if let Some(directory) = &arguments.rendezvous {
        return Ok(directory.clone());
    }
    let job = rank.job.as_ref().ok_or(
        "the launcher does not say which job this is: name a directory that all ranks see, and that is not there \
         yet, with --rendezvous",
    )?;
    let here = env::current_dir().map_err(|e| format!("cannot find the current directory: {e}"))?;
    Ok(here.join(format!(".ipcmark-{job}")))
}

/// Both ends of a row on one host are placed by the leader, which needs processors to choose from.
fn widen(rank: &Rank) {
    match pin::widen() {
        Ok(Some([before, after])) => output::say(format_args!(
            "rank {}: bound to cpu {} by the launcher, now to {}, for ipcmark places both ends; --keep-binding keeps it",
            rank.number,
            topology::list(before),
            topology::list(after)
        )),
        Ok(None) => {}
        Err(error) => output::say(format_args!("rank {}: {error}", rank.number)),
    }
}

fn lead(
    arguments: &RankArguments,
    rank: &Rank,
    directory: PathBuf,
    interrupts: &Interrupts,
) -> Outcome {
    let meeting = Meeting::open(directory, arguments.meet_within, interrupts)?;
    let outcome = meet_and_lead(&meeting, arguments, rank, interrupts);
    let status = match &outcome {
        Ok(status) if *status == ExitCode::SUCCESS => 0,
        Ok(_) => 1,
        Err(_) => 2,
    };
    // The others end with the same status, and have read it before the directory goes.
    if meeting.put(STATUS, &status.to_string()).is_ok() {
        let farewell = meeting.within(FAREWELL);
        let came = (1..rank.count).filter(|rank| meeting.path(&here(*rank)).exists());
        came.for_each(|rank| drop(farewell.get(&left(rank))));
    }
    meeting.remove();
    outcome
}

fn meet_and_lead(
    meeting: &Meeting<'_>,
    arguments: &RankArguments,
    rank: &Rank,
    interrupts: &Interrupts,
) -> Outcome {
    let Some(are_here) = gather(meeting, rank)? else {
        return Ok(interrupts.exit_status());
    };
    by_hand::lead(&place(meeting, arguments, are_here)?, &arguments.run)
}

/// Waits for all others; true if they are on this very machine, in the same network. Nothing where the user interrupts.
fn gather(meeting: &Meeting<'_>, rank: &Rank) -> Result<Option<bool>, String> {
    let mut hosts = Vec::new();
    let mut missing = Vec::new();
    for number in 1..rank.count {
        match meeting.get(&here(number)) {
            Ok(host) => hosts.push(host),
            Err(Missing::Late) => missing.push(number.to_string()),
            Err(Missing::Interrupted) => return Ok(None),
        }
    }
    if missing.is_empty() {
        return Ok(Some(hosts.iter().all(|host| *host == host_here())));
    }
    Err(format!("rank {} of {} did not come in time", missing.join(", "), rank.count))
}

/// Where the leader listens, and tells the others so.
fn place(
    meeting: &Meeting<'_>,
    arguments: &RankArguments,
    are_here: bool,
) -> Result<LeaderPlace, String> {
    if are_here {
        let socket = meeting.path("socket");
        meeting.put(LEADER, "socket")?;
        return Ok(LeaderPlace { socket: Some(socket), ..LeaderPlace::default() });
    }
    let port = free_port().map_err(|e| format!("cannot find a free port: {e}"))?;
    let host = match &arguments.address {
        Some(host) => host.clone(),
        None => nix::unistd::gethostname()
            .map_err(|e| format!("cannot find the host's name: {e}; name --address"))?
            .to_string_lossy()
            .into_owned(),
    };
    meeting.put(SECRET, &secret().map_err(|e| format!("cannot make a secret: {e}"))?)?;
    meeting.put(LEADER, &format!("{host}:{port}"))?;
    Ok(LeaderPlace {
        listen: Some(format!("0.0.0.0:{port}")),
        secret: Some(meeting.path(SECRET)),
        ..LeaderPlace::default()
    })
}

fn follow(
    arguments: &RankArguments,
    rank: &Rank,
    directory: PathBuf,
    interrupts: &Interrupts,
) -> Outcome {
    let meeting = Meeting::join(directory, arguments.meet_within, interrupts)?;
    meeting.put(&here(rank.number), &host_here())?;
    let leader = match meeting.get(LEADER) {
        Ok(leader) => leader,
        Err(Missing::Interrupted) => return Ok(interrupts.exit_status()),
        Err(Missing::Late) => {
            let why = "rank 0 did not say in time where it is: see what it says";
            return Ok(ended(&meeting, rank, why));
        }
    };
    let mut follower = FollowerArguments::plain(&arguments.run.module);
    if leader == "socket" {
        follower.socket = Some(meeting.path("socket"));
    } else {
        follower.connect = Some(leader);
        follower.secret = Some(meeting.path(SECRET));
    }
    let is_served = AtomicBool::new(false);
    thread::scope(|scope| {
        let (is_served, watched) = (&is_served, meeting.within(arguments.meet_within));
        // A leader that ends before it has served anybody would be awaited for ever.
        scope.spawn(move || leave_with(&watched, rank, is_served));
        let outcome =
            by_hand::follow_telling(&follower, &|_| is_served.store(true, Ordering::Relaxed));
        is_served.store(true, Ordering::Relaxed);
        outcome
    })?;
    Ok(ended(&meeting.within(FAREWELL), rank, "rank 0 has ended without a result"))
}

/// Ends this process where rank 0 has ended, or is silent, and no session has begun.
fn leave_with(meeting: &Meeting<'_>, rank: &Rank, is_served: &AtomicBool) {
    let waits = || !is_served.load(Ordering::Relaxed);
    while waits() {
        match meeting.within(Duration::from_millis(200)).get(STATUS) {
            Ok(_) if waits() => leave(meeting, rank, 2),
            Err(_) if waits() && meeting.is_over() => {
                output::say(format_args!(
                    "rank {}: the leader was not reached in time",
                    rank.number
                ));
                leave(meeting, rank, 1)
            }
            _ => {}
        }
    }
}

fn leave(meeting: &Meeting<'_>, rank: &Rank, status: i32) {
    let _ = meeting.put(&left(rank.number), "");
    process::exit(status);
}

/// The status of the whole, once rank 0 has told it.
fn ended(meeting: &Meeting<'_>, rank: &Rank, why: &str) -> ExitCode {
    let status = meeting.get(STATUS).ok().and_then(|status| status.parse().ok());
    let _ = meeting.put(&left(rank.number), "");
    status.map_or_else(|| output::failed(why), |status: u8| ExitCode::from(status))
}

fn here(rank: u32) -> String {
    format!("here-{rank}")
}

fn left(rank: u32) -> String {
    format!("left-{rank}")
}

/// The machine and the network that this process is in: two that say the same reach each other without either.
fn host_here() -> String {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let network = fs::metadata("/proc/self/ns/net").map_or(0, |network| network.ino());
    format!("{} {network}", boot.trim())
}

/// A port that is free now.
fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind(("0.0.0.0", 0))?.local_addr()?.port())
}

/// A secret for this job.
fn secret() -> std::io::Result<String> {
    let mut bytes = [0; 32];
    fs::File::open(Path::new("/dev/urandom"))?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

pub(super) const DEFINITION: Definition = Definition {
    name: "rank",
    summary: "Measure under a launcher: the same command on every rank, of which the first leads",
    guide: Guide {
        about: "Rank 0 leads and shows the result, the others follow; with more than two it is fan-out. Which rank this is \
                say Open MPI, MPICH, Slurm, PMIx and Kubernetes, or --rank and --ranks.",
        examples: &[
            ("mpirun -n 2 ipcmark rank -t os -s 64", "both on one host: everything of the system"),
            ("mpirun -n 2 --host a,b ipcmark rank -t tcp,udp -o result.json", "between two hosts"),
            ("srun -N 2 -n 2 ipcmark rank -t tcp -s 64,4k", ""),
            (
                "mpiexec.hydra -n 4 ipcmark rank -t tcp --rendezvous here",
                "a leader and three followers",
            ),
        ],
        exit: "of every rank: 0 all asked for was measured; 1 something asked for failed or is not available; 2 the command line is wrong, or a rank did not come; 128 + signal after Ctrl-C or SIGTERM",
        see_also: &["leader", "follower", "run"],
    },
    flags: RankArguments::augment_args,
    run,
};
