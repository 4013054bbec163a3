//! From what the workers of a case report to its figures.

use ipcmark_results::{
    CpuPerMessage, Figures, Path, PeakMemory, Placement as CasePlacement, Subscriber, Switches,
};

use ipcmark_machine::placement::Placement;

use crate::wire::{Costs, FollowerReport, LeaderReport, Pass, Reply};

/// The figures of a case from what its workers reported.
pub(crate) fn figures(
    opened: &[Reply],
    replies: Vec<Reply>,
    floor_round_trip_ns: f64,
    pass: &Pass,
    placement: &Placement,
) -> Result<Figures, String> {
    let opened = opened.iter().filter_map(|reply| match reply {
        Reply::Opened { setup_ns, configuration } => Some((*setup_ns, configuration)),
        _ => None,
    });
    let setup_ns = opened.clone().map(|(setup_ns, _)| setup_ns).max().unwrap_or(0);
    let (mut led, mut followed) = (None, Vec::new());
    for reply in replies {
        match reply {
            Reply::Led(report) => led = Some(report),
            Reply::Followed(costs) => followed.push(costs),
            other => return Err(format!("a worker answered {other:?} to a measurement")),
        }
    }
    let report = *led.ok_or("the leader did not report")?;
    let mut figures = compute(report, followed, pass, placement)?;
    figures.setup_ns = setup_ns;
    figures.configuration = opened.flat_map(|(_, configuration)| configuration.clone()).collect();
    figures.floor_round_trip_ns = floor_round_trip_ns;
    Ok(figures)
}

fn compute(
    report: LeaderReport,
    each_followed: Vec<Costs>,
    pass: &Pass,
    placement: &Placement,
) -> Result<Figures, String> {
    let histogram = ipcmark_results::decode(&report.histogram)?;
    let round_trips = histogram.len();
    if round_trips == 0 {
        return Err("not one round trip ended: every message was lost".into());
    }
    let followers = each_followed.len().max(1) as u64;
    // One message to each follower, and one back from each that answers.
    let messages = (round_trips * (2 * followers - u64::from(pass.silent))) as f64;
    let per_subscriber = subscribers(&report.followers, &each_followed)?;
    let mut followed = Costs::default();
    each_followed.into_iter().for_each(|costs| add(&mut followed, costs));
    let seconds = report.elapsed_ns.max(1) as f64 / 1e9;
    Ok(Figures {
        round_trips,
        round_trip_ns: ipcmark_results::statistics(&histogram, report.bulk_mean_ns),
        floor_round_trip_ns: 0.0,
        messages_per_second: messages / seconds,
        bytes_per_second: messages * pass.payload as f64 / seconds,
        lost: report.lost,
        lost_wait_ns: report.lost_wait_ns,
        per_subscriber,
        cpu_ns_per_message: CpuPerMessage {
            leader: report.costs.cpu_ns as f64 / messages,
            follower: followed.cpu_ns as f64 / messages,
        },
        context_switches: Switches { leader: report.costs.switches, follower: followed.switches },
        peak_memory_bytes: PeakMemory {
            leader: report.costs.peak_memory_bytes,
            follower: followed.peak_memory_bytes,
        },
        path: Path {
            loopback_bytes_per_message: report.costs.loopback_bytes as f64 / messages,
            ..Path::default()
        },
        setup_ns: 0,
        configuration: Default::default(),
        placement: CasePlacement {
            leader_cpu: placement.leader,
            follower_cpus: placement.followers.iter().copied().flatten().collect(),
        },
        histogram: report.histogram,
    })
}

fn subscribers(reports: &[FollowerReport], costs: &[Costs]) -> Result<Vec<Subscriber>, String> {
    let pairs = reports.iter().zip(costs).filter(|_| reports.len() > 1);
    pairs.map(|(report, costs)| subscriber(report, costs)).collect()
}

fn subscriber(report: &FollowerReport, costs: &Costs) -> Result<Subscriber, String> {
    let histogram = ipcmark_results::decode(&report.histogram)?;
    let answers = histogram.len();
    Ok(Subscriber {
        answers,
        answer_ns: ipcmark_results::answer_times(&histogram),
        lost: report.lost,
        cpu_ns_per_message: costs.cpu_ns as f64 / (2 * answers.max(1)) as f64,
        histogram: report.histogram.clone(),
    })
}

fn add(sum: &mut Costs, costs: Costs) {
    sum.cpu_ns += costs.cpu_ns;
    sum.peak_memory_bytes = sum.peak_memory_bytes.max(costs.peak_memory_bytes);
    sum.switches.voluntary += costs.switches.voluntary;
    sum.switches.involuntary += costs.switches.involuntary;
}
