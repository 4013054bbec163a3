/* A shared object, but no module. */
int some_other_library(void);
int some_other_library(void) {
    return 7;
}
