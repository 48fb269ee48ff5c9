/* A plug-in for QEMU's user-mode emulators that counts the instructions of the emulated program. Whenever the program
 * calls getpid, the plug-in writes the number of instructions so far to the standard error output, as a line
 * "instructions N". Used by scripts/count-aarch64.
 *
 * The declarations below replace qemu-plugin.h, which Debian's packages lack. They are those of version 1 of QEMU's
 * plug-in interface (QEMU 6 to 8). Source: QEMU documentation, "QEMU TCG Plugins".
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef uint64_t plugin_id;
struct qemu_plugin_tb;
enum operation { INLINE_ADD_U64 };

void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id, void (*)(plugin_id, struct qemu_plugin_tb *));
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *, enum operation, void *, uint64_t);
void qemu_plugin_register_vcpu_syscall_cb(plugin_id, void (*)(plugin_id, unsigned, int64_t, uint64_t, uint64_t,
                                                              uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                                                              uint64_t));

__attribute__((visibility("default"))) int qemu_plugin_version = 1;

/* The number of the system call getpid on aarch64. */
static const int64_t GETPID = 172;
static uint64_t instructions;

/* Counts all instructions of a translation block when the block is entered. This count is exact, because a block has no
 * jump except at its end. A system call ends a block, so the count at a call of getpid has no later instructions. */
static void translate(plugin_id id, struct qemu_plugin_tb *block) {
    (void)id;
    qemu_plugin_register_vcpu_tb_exec_inline(block, INLINE_ADD_U64, &instructions, qemu_plugin_tb_n_insns(block));
}

static void system_call(plugin_id id, unsigned processor, int64_t number, uint64_t a, uint64_t b, uint64_t c,
                        uint64_t d, uint64_t e, uint64_t f, uint64_t g, uint64_t h) {
    (void)id, (void)processor, (void)a, (void)b, (void)c, (void)d, (void)e, (void)f, (void)g, (void)h;
    if (number == GETPID) {
        fprintf(stderr, "instructions %" PRIu64 "\n", instructions);
    }
}

__attribute__((visibility("default"))) int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv) {
    (void)info, (void)argc, (void)argv;
    qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
    qemu_plugin_register_vcpu_syscall_cb(id, system_call);
    return 0;
}
