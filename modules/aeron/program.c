/* The program of Aeron's media driver, as a part of the module: it is available wherever the module is, even in a
 * sandbox that hides the module's folder. */
__asm__(".section .rodata\n"
        ".balign 16\n"
        ".hidden ipcmark_aeronmd\n"
        ".hidden ipcmark_aeronmd_end\n"
        ".globl ipcmark_aeronmd\n"
        ".globl ipcmark_aeronmd_end\n"
        "ipcmark_aeronmd:\n"
        ".incbin \"" IPCMARK_AERONMD "\"\n"
        "ipcmark_aeronmd_end:\n"
        ".previous\n");
