/* What a Cortex-M4 does before main: a stack, the floating-point unit, and the C library's start.
 *
 * Output goes to the host by semihosting, so that the same program runs in qemu and on a board with
 * a debugger.
 */
#include <stdint.h>

extern uint32_t stack_top;
void _start(void); /* of newlib: zeroes .bss, calls main */

static void reset(void)
{
    volatile uint32_t *const coprocessors = (volatile uint32_t *)0xE000ED88; /* CPACR */
    *coprocessors |= 0xFu << 20;
    __asm volatile("dsb\n isb");
    _start();
}

static void stop(void)
{
    for (;;)
        ;
}

__attribute__((section(".vectors"), used)) static const struct {
    uint32_t *stack;
    void (*handlers[15])(void);
} vectors = {&stack_top, {reset, stop, stop, stop, stop, stop}};
