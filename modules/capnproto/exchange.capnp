# The interfaces of the endpoints: a message is a streaming call of the other endpoint's sink.
@0xc2ed65e376f646df;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("ipcmark_capnproto");

interface Sink {
  write @0 (message :Data) -> stream;
}

# Implemented by the follower; the leader calls it once.
interface Exchange {
  connect @0 (leader :Sink) -> (follower :Sink);
}
