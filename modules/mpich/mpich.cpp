// mpi-mpich, mpi-mpich-tcp: messages between two ranks of MPICH.
//
// - Mechanism: MPI_Isend and MPI_Irecv in MPI_COMM_WORLD, each with MPI_Test until it is done. Shared memory is the
//   library's own (ch4's shmmod posix); TCP is that of its network layer, UCX or libfabric, depending on the build.
// - Kernel objects: a file in /dev/shm without a name, or connections. The launcher mpiexec with its proxy, two
//   sleeping agents, and connections to the proxy.
// - Copies a message: two.
// - Blocks: never. MPI polls in every call.
// - Limits: two ranks on one host. MPI starts once in a process, so the launcher ends with the worker.
#include "shared/cpp/description.hpp"
#include "shared/mpi/library.hpp"

namespace {

using namespace ipcmark;

// With a port, because a worker cannot take over the descriptor that an agent inherits.
const mpi::Library mpich = {
    "MPICH", {"mpiexec.mpich", "-pmi-port", "-iface", "lo", "-n"}, {}, "apt install mpich", nullptr, nullptr,
};

const mpi::Way memory = {&mpich, {}};
// Without shared memory; each network layer reads its own variables.
const mpi::Way tcp = {
    &mpich,
    {"MPIR_CVAR_NOLOCAL=1", "UCX_TLS=tcp,self", "UCX_NET_DEVICES=lo", "FI_PROVIDER=tcp", "FI_TCP_IFACE=lo"},
};

const ipcmark_transport memory_transport =
    mpi::describe("mpi-mpich", "two ranks of MPICH, its own shared memory: two copies", memory, IPCMARK_IN_MEMORY);
const ipcmark_transport tcp_transport = mpi::describe(
    "mpi-mpich-tcp", "two ranks of MPICH over TCP: two copies and those of the kernel", tcp, IPCMARK_ON_NETWORK);

const ipcmark_transport *const TRANSPORTS[] = {&memory_transport, &tcp_transport};

} // namespace

const struct ipcmark_module *ipcmark_module(void) {
    static const auto module = describe_module("mpich", mpi::library_version, TRANSPORTS);
    return &module;
}
