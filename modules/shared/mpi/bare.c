/* A bare program of MPI_Send and MPI_Recv, with the calls of OSU's osu_latency, the baseline for the transports. It
 * starts itself again under the library's launcher, in two ranks. */
#include "shared/c/bare.h"

#define OMPI_SKIP_MPICXX 1
#include <mpi.h>

#ifdef OPEN_MPI
#define LAUNCHER "mpirun.openmpi", "--oversubscribe", "--bind-to", "none", "-n", "2"
#else
#define LAUNCHER "mpiexec.mpich", "-n", "2"
#endif

enum { TAG = 1 };

struct end {
    unsigned char *outgoing, *incoming;
};

static void *bare_open(const struct bare *bare) {
    struct end *self = calloc(1, sizeof *self);
    self->outgoing = aligned_alloc(4096, (bare->payload + 4095) / 4096 * 4096);
    self->incoming = aligned_alloc(4096, (bare->payload + 4095) / 4096 * 4096);
    memset(self->outgoing, 1, bare->payload);
    memset(self->incoming, 1, bare->payload);
    MPI_Barrier(MPI_COMM_WORLD);
    return self;
}

static void bare_send(void *end, const struct bare *bare, uint64_t number) {
    struct end *self = end;
    bare_write(self->outgoing, number);
    if (MPI_Send(self->outgoing, (int)bare->payload, MPI_CHAR, bare->leads, TAG, MPI_COMM_WORLD) != MPI_SUCCESS)
        bare_fail("send by MPI");
}

static uint64_t bare_receive(void *end, const struct bare *bare) {
    struct end *self = end;
    MPI_Status status;
    if (MPI_Recv(self->incoming, (int)bare->payload, MPI_CHAR, bare->leads, TAG, MPI_COMM_WORLD, &status) !=
        MPI_SUCCESS)
        bare_fail("receive by MPI");
    return bare_read(self->incoming);
}

static void bare_close(void *end) {
    struct end *self = end;
    free(self->outgoing);
    free(self->incoming);
    free(self);
}

static int play(int argc, char **argv) {
    int rank = 0;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    struct bare bare = bare_read_arguments(argc, argv);
    bare.leads = rank == 0;
    void *end = bare_open(&bare);
    bare_pin(bare.cpus[!bare.leads]);
    bare_measure_blocks(end, &bare);
    bare_close(end);
    return MPI_Finalize();
}

int main(int argc, char **argv) {
    if (argc != 8)
        return bare_main(argc, argv);
    if (getenv("IPCMARK_BARE_RANK"))
        return play(argc, argv);
    setenv("IPCMARK_BARE_RANK", "1", 1);
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    char *words[] = {LAUNCHER, argv[0], argv[1], argv[2], argv[3], argv[4], argv[5], argv[6], argv[7], NULL};
    execvp(words[0], words);
    bare_fail("start the launcher");
}
