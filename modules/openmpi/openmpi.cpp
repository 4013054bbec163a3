// mpi-openmpi, mpi-openmpi-tcp: messages between two ranks of Open MPI.
//
// - Mechanism: MPI_Isend and MPI_Irecv in MPI_COMM_WORLD, each with MPI_Test until it is done. Shared memory is the
//   library's transfer layer vader (sm since version 5); TCP goes over the loopback interface.
// - Kernel objects: a file of 4 MiB in /dev/shm for each rank, whose name is removed once both have mapped it, or
//   connections. The launcher mpirun, two sleeping agents, and connections to it.
// - Copies a message: two through shared memory; one, by process_vm_readv(2), from 4 KiB on if the kernel allows it.
// - Blocks: never. MPI polls in every call.
// - Limits: two ranks on one host. MPI starts once in a process, so the launcher ends with the worker.
#include "shared/cpp/description.hpp"
#include "shared/mpi/calls.hpp"
#include "shared/mpi/library.hpp"

#include <string>

namespace {

using namespace ipcmark;

#if OMPI_MAJOR_VERSION >= 5
#define LAYER "sm"
#else
#define LAYER "vader"
#endif

// The word for a value of a control variable, or "".
std::string word_for(MPI_T_enum words, int number) {
    int count = 0, found = 0;
    char name[64] = "", word[64] = "";
    int name_len = sizeof name;
    if (words == MPI_T_ENUM_NULL || MPI_T_enum_get_info(words, &count, name, &name_len) != MPI_SUCCESS)
        return "";
    for (int item = 0; item < count; item++) {
        int len = sizeof word;
        if (MPI_T_enum_get_item(words, item, &found, word, &len) == MPI_SUCCESS && found == number)
            return word;
    }
    return "";
}

// The value of an enumerated control variable, as the library set it, or "".
std::string control_variable(const char *name) {
    int index = 0, none = 0, verbosity = 0, bind = 0, scope = 0, count = 0, number = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_T_enum words = MPI_T_ENUM_NULL;
    MPI_T_cvar_handle handle = nullptr;
    if (MPI_T_cvar_get_index(name, &index) != MPI_SUCCESS ||
        MPI_T_cvar_get_info(index, nullptr, &none, &verbosity, &type, &words, nullptr, &none, &bind, &scope) !=
            MPI_SUCCESS ||
        MPI_T_cvar_handle_alloc(index, nullptr, &handle, &count) != MPI_SUCCESS)
        return "";
    const bool is_read = MPI_T_cvar_read(handle, &number) == MPI_SUCCESS;
    MPI_T_cvar_handle_free(&handle);
    return is_read ? word_for(words, number) : "";
}

// Notes the call with which a receiver reads the sender's memory: the library falls back silently if it is not allowed.
void note_single_copy(ipcmark_session *session) {
    int provided = 0;
    if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS)
        return;
    const std::string word = control_variable("btl_vader_single_copy_mechanism");
    if (!word.empty())
        session->note(session, "single copy", word.c_str());
    MPI_T_finalize();
}

// ipcmark pins the ranks. If the launcher considers a machine too small for its ranks, they would yield.
const mpi::Library open_mpi = {
    "Open MPI",
    {"mpirun.openmpi", "--oversubscribe", "--bind-to", "none", "-n"},
    {"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "OMPI_MCA_oob_tcp_if_include=lo"},
    "apt install openmpi-bin",
    "/dev/shm/" LAYER "_segment.",
    note_single_copy,
};

const mpi::Way memory = {
    &open_mpi,
    {"OMPI_MCA_pml=ob1", "OMPI_MCA_btl=self," LAYER, "OMPI_MCA_mpi_yield_when_idle=0"},
};
const mpi::Way tcp = {
    &open_mpi,
    {"OMPI_MCA_pml=ob1", "OMPI_MCA_btl=self,tcp", "OMPI_MCA_btl_tcp_if_include=lo", "OMPI_MCA_mpi_yield_when_idle=0"},
};

const ipcmark_transport memory_transport =
    mpi::describe("mpi-openmpi", "two ranks of Open MPI, its own shared memory: two copies, one for large messages",
                  memory, IPCMARK_IN_MEMORY);
const ipcmark_transport tcp_transport = mpi::describe(
    "mpi-openmpi-tcp", "two ranks of Open MPI over TCP: two copies and those of the kernel", tcp, IPCMARK_ON_NETWORK);

const ipcmark_transport *const TRANSPORTS[] = {&memory_transport, &tcp_transport};

} // namespace

const struct ipcmark_module *ipcmark_module(void) {
    static const auto module = describe_module("openmpi", mpi::library_version, TRANSPORTS);
    return &module;
}
