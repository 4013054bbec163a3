//! The library's session of an endpoint: its configuration, and how the endpoints find each other.

use std::{
    env,
    fmt::Display,
    net::{Ipv4Addr, TcpListener},
    os::unix::ffi::OsStrExt,
    sync::{Arc, Once},
    thread,
    time::Duration,
};

use ipcmark_transport::{Deadline, Error, MAX_SLEEP, Rendezvous, Settings, Wait as Waiting};
use zenoh::{
    Config, Session, Wait, bytes::ZBytes, handlers::FifoChannelHandler, matching::MatchingStatus,
    shm::ShmClientStorage,
};

/// The carrier of a session's frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// A Unix domain stream socket.
    Unix,
    /// TCP over the loopback interface.
    Tcp,
    /// A Unix domain stream socket, which carries a message's position in shared memory.
    Shm,
}

/// The longest sleep of a receiver whose messages all arrive: the other end may be gone.
const LONGEST_SLEEP: Duration = Duration::from_millis(100);

/// The longest sleep of a receiver in one call; none if it spins.
pub fn sleep(link: Link, settings: &Settings) -> Option<Duration> {
    let longest = if link == Link::Shm { MAX_SLEEP } else { LONGEST_SLEEP };
    (settings.wait == Waiting::Block).then_some(longest)
}

/// Converts an error of the library to one of ours.
pub fn failed<E: Display>(operation: &'static str, object: &'static str) -> impl Fn(E) -> Error {
    move |error| Error::new(operation, object, cause(&error.to_string()))
}

/// The library's message, without the position in its sources.
pub fn cause(text: &str) -> &str {
    text.split_once(" at /").map_or(text, |(cause, _)| cause)
}

/// A session of the library, closed after its publisher and subscriber are dropped: if it is closed before, it keeps
/// the memory of both ends mapped forever.
pub struct OpenSession(pub Session);

impl Drop for OpenSession {
    fn drop(&mut self) {
        // A connection that has ended is already closed.
        let _ = self.0.close().wait();
    }
}

/// Removes the user's variables, such as `ZENOH_RUNTIME` with the number of threads: the result contains all settings
/// of a measurement. The library reads them when the first session opens.
fn forget_variables() {
    static FORGOTTEN: Once = Once::new();
    FORGOTTEN.call_once(|| {
        let names = env::vars_os().map(|(name, _)| name);
        for name in names.filter(|name| name.as_bytes().starts_with(b"ZENOH_")) {
            // SAFETY: while an end opens, the process has no other thread that uses the environment.
            unsafe { env::remove_var(name) };
        }
    });
}

/// Opens the session of an endpoint. The leader listens and sends the follower the address; then the follower connects.
/// `prepare` makes the endpoint's other objects of the library, never at the same time as the other endpoint.
pub fn open<T>(
    link: Link,
    settings: &Settings,
    deadline: Deadline,
    peers: &mut dyn Rendezvous,
    prepare: impl FnOnce() -> Result<T, Error>,
) -> Result<(OpenSession, T), Error> {
    forget_variables();
    if settings.role.is_leader() {
        let (endpoint, session) = listen(link, settings, deadline)?;
        let prepared = prepare()?;
        peers.send(0, endpoint.as_bytes(), &[])?;
        return Ok((session, prepared));
    }
    let (endpoint, _) = peers.receive(0)?;
    let endpoint = told(link, endpoint)?;
    let session = start(link, config(link, None, Some(&endpoint), deadline)?)?;
    Ok((session, prepare()?))
}

/// The number of attempts to find a port that nobody takes before the library listens at it.
const PORTS: u32 = 5;

fn listen(
    link: Link,
    settings: &Settings,
    deadline: Deadline,
) -> Result<(String, OpenSession), Error> {
    let mut tries = if link == Link::Tcp { PORTS } else { 1 };
    loop {
        let endpoint = endpoint(link, settings)?;
        tries -= 1;
        match start(link, config(link, Some(&endpoint), None, deadline)?) {
            Err(_) if tries > 0 => {}
            session => return Ok((endpoint, session?)),
        }
    }
}

fn start(link: Link, config: Config) -> Result<OpenSession, Error> {
    let mut builder = zenoh::open(config);
    if link == Link::Shm {
        // A private one: a storage shared by all sessions keeps the memory of others mapped forever.
        let clients = ShmClientStorage::builder().with_default_client_set().build();
        builder = builder.with_shm_clients(Arc::new(clients));
    }
    builder.wait().map(OpenSession).map_err(failed("open", "a session of zenoh"))
}

/// The leader's address: nobody else knows the name, and only this user can access the directory.
fn endpoint(link: Link, settings: &Settings) -> Result<String, Error> {
    match link {
        Link::Unix | Link::Shm => unix_endpoint(settings),
        Link::Tcp => tcp_endpoint(),
    }
}

/// The library does not report the port if the system chooses it.
fn tcp_endpoint() -> Result<String, Error> {
    let fail = |e| Error::os("find", "a free TCP port", e);
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(fail)?;
    Ok(format!("tcp/{}", free.local_addr().map_err(fail)?))
}

/// The longest path of a Unix socket in bytes.
const MOST_PATH_BYTES: usize = 107;

/// Characters that begin other parts of an endpoint, or need quotes in the configuration.
const SPECIAL: [char; 4] = ['?', '#', '"', '\\'];

/// A leader of several followers has an endpoint for each, and they share the directory.
fn unix_endpoint(settings: &Settings) -> Result<String, Error> {
    let path = settings.directory.join(format!("{}.zenoh", settings.name));
    let text = path.to_str().filter(|text| !text.contains(SPECIAL));
    match text {
        Some(text) if text.len() <= MOST_PATH_BYTES => Ok(format!("unixsock-stream/{text}")),
        _ => Err(Error::new("listen at", path.display().to_string(), "zenoh takes no such path")),
    }
}

/// The leader's endpoint, which must be of the measured kind.
fn told(link: Link, endpoint: Vec<u8>) -> Result<String, Error> {
    let start = match link {
        Link::Unix | Link::Shm => "unixsock-stream/",
        Link::Tcp => "tcp/127.0.0.1:",
    };
    let text = String::from_utf8(endpoint).ok();
    text.filter(|text| text.starts_with(start) && !text.contains(SPECIAL))
        .ok_or_else(|| Error::new("connect", "a session of zenoh", "the leader sent no endpoint"))
}

/// Peer to peer, only over the given endpoint: without discovery of others, and without announcing them.
fn config(
    link: Link,
    listen: Option<&str>,
    connect: Option<&str>,
    deadline: Deadline,
) -> Result<Config, Error> {
    let protocol = if link == Link::Tcp { "tcp" } else { "unixsock-stream" };
    let mut config = Config::default();
    let list = |word: Option<&str>| match word {
        Some(word) => format!("[\"{word}\"]"),
        None => "[]".to_owned(),
    };
    let timeout = deadline.left().as_millis().to_string();
    let (shares, mode) = match link {
        Link::Shm => ("true", "\"init\""),
        Link::Unix | Link::Tcp => ("false", "\"lazy\""),
    };
    let settings: [(&str, &str); 14] = [
        ("mode", "\"peer\""),
        ("listen/endpoints", &list(listen)),
        ("connect/endpoints", &list(connect)),
        ("connect/timeout_ms", &timeout),
        ("connect/exit_on_failure", "true"),
        ("connect/retry", "{ period_init_ms: 20, period_max_ms: 200, period_increase_factor: 2 }"),
        ("scouting/multicast/enabled", "false"),
        ("scouting/gossip/enabled", "false"),
        ("open/return_conditions/connect_scouted", "false"),
        ("adminspace/enabled", "false"),
        ("transport/link/protocols", &list(Some(protocol))),
        ("transport/shared_memory/enabled", shares),
        // With the session, and not with the first message; "init" also makes some if it is not enabled.
        ("transport/shared_memory/mode", mode),
        // Only messages that already lie in shared memory use it: nothing is copied there.
        ("transport/shared_memory/transport_optimization/enabled", "false"),
    ];
    for (key, value) in settings {
        config.insert_json5(key, value).map_err(failed("configure", "a session of zenoh"))?;
    }
    Ok(config)
}

/// Waits until the library knows what receives this endpoint's messages: messages sent before do not reach it.
pub fn await_match(
    receiver: &'static str,
    deadline: Deadline,
    status: impl Fn() -> zenoh::Result<MatchingStatus>,
) -> Result<(), Error> {
    let fail = failed("look for", receiver);
    while !status().map_err(&fail)?.matching() {
        if deadline.has_passed() {
            let cause = format!("it was not found {deadline}");
            return Err(Error::new("find", receiver, cause));
        }
        thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// The next item of a channel, if one is there or arrives while the endpoint sleeps.
#[inline]
pub fn next<T>(
    channel: &FifoChannelHandler<T>,
    sleep: Option<Duration>,
) -> zenoh::Result<Option<T>> {
    match sleep {
        Some(longest) => channel.recv_timeout(longest),
        None => channel.try_recv(),
    }
}

/// The error for a message that is longer than the payload of the settings.
#[cold]
pub fn too_long(message: &ZBytes) -> Error {
    let cause = format!("it has {} bytes, more than was agreed", message.len());
    Error::new("receive", "a message of zenoh", cause)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_names_no_source_location() {
        let text = "Can not create a listener at /registry/src/unicast.rs:356.";
        assert_eq!(cause(text), "Can not create a listener");
        assert_eq!(cause("timed out"), "timed out");
    }

    #[test]
    fn an_endpoint_of_another_kind_is_refused() {
        let told = |text: &str| told(Link::Unix, text.as_bytes().to_vec());
        assert!(told("unixsock-stream//tmp/x.zenoh").is_ok());
        for text in ["", "tcp/10.0.0.1:7447", "unixsock-stream//tmp/x?rel=0", "unixsock-stream/\"]"]
        {
            assert!(told(text).is_err(), "{text}");
        }
    }
}
