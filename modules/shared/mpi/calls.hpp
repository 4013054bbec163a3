// MPI's C calls, without the C++ bindings of old headers, which need a separate library.
#pragma once

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>
