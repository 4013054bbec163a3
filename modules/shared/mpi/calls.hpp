// MPI's calls in C, without the bindings for C++ that old headers bring along, which need a library of their own.
#pragma once

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>
