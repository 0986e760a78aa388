/* A learner that learns on the device: QRC(lambda), as rillax wrote it.
 *
 * Call learner_start once, then learner_act and learner_learn in turns. The struct is all that the
 * learner is: it needs no heap, and its size never changes. Build with LEARNER_DOUBLE defined for
 * double precision. Do not build with -ffast-math, which would lose the checks for NaN.
 */
#ifndef LEARNER_H
#define LEARNER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef LEARNER_DOUBLE
typedef double learner_real;
#else
typedef float learner_real;
#endif

enum {
    LEARNER_OBSERVATIONS = 3, /* numbers in an observation */
    LEARNER_ACTIONS = 2, /* actions */
    LEARNER_INPUTS = 3, /* numbers that the networks take in */
    LEARNER_REALS = 11613, /* real numbers in the state */
    LEARNER_INTEGERS = 12, /* integers in the state */
    LEARNER_VERSION = 1 /* of the saved bytes */
};

/* What the functions return, beside an action. Where it is an error, the learner is as it was;
   only after LEARNER_REFUSED it is as after learner_skip. */
enum {
    LEARNER_OK = 0,
    LEARNER_NOT_FINITE = -1, /* a NaN or an infinity came in */
    LEARNER_NO_ACTION = -2,  /* learn was called before act, or twice */
    LEARNER_TOO_SHORT = -3,  /* fewer bytes than learner_bytes() */
    LEARNER_FOREIGN = -4,    /* bytes of another learner, version or precision */
    LEARNER_DAMAGED = -5,    /* bytes that changed on the way */
    LEARNER_REFUSED = -6     /* learning would have left numbers that are not finite */
};

/* 32 recurrent trace units: h <- lambda h + gamma B x, with lambda = r exp(i Omega). */
typedef struct {
    learner_real nu_log[32];    /* r = exp(-exp(nu_log)) */
    learner_real theta_log[32]; /* Omega = exp(theta_log) */
    learner_real B_real[32 * 16];
    learner_real B_imag[32 * 16];
} cell_weights;

/* The state h, and its sensitivity to the parameters:
   dh/dB_real = turn E, kept in a frame that turns with the unit. */
typedef struct {
    learner_real h_real[32], h_imag[32];
    learner_real previous_real[32], previous_imag[32];
    learner_real nu_real[32], nu_imag[32];       /* dh/dnu_log */
    learner_real theta_real[32], theta_imag[32]; /* dh/dtheta_log */
    learner_real E_real[32 * 16], E_imag[32 * 16];
    learner_real turn_real[32], turn_imag[32]; /* the product of all exp(i Omega) */
} cell_memory;

/* What a step has computed. */
typedef struct {
    learner_real nu[32], omega[32], r[32], gamma[32];
    learner_real cosine[32], sine[32]; /* of Omega */
    learner_real lambda_real[32], lambda_imag[32];
    learner_real u_real[32], u_imag[32]; /* B x */
    learner_real h[2 * 32];                  /* real parts, then imaginary parts */
    learner_real features[2 * 32];           /* f(h) */
} cell_pass;

/* The gradient of the state h, and of nu_log and theta_log. */
typedef struct {
    learner_real g[2 * 32];
    learner_real nu[32], theta[32];
} cell_slope;

/* What a network learns, but for its output layer. */
typedef struct {
    learner_real encoder_weight[16 * 3];
    learner_real encoder_bias[16];
    cell_weights cell;
    learner_real head_weight[16 * 64];
    learner_real head_bias[16];
} body_weights;

/* What a network remembers. */
typedef struct {
    cell_memory cell;
} body_memory;

/* What an observation becomes on its way through a network. */
typedef struct {
    learner_real seen[3];
    learner_real encoder_normed[16], encoder_factor, encoder[16];
    cell_pass cell;
    learner_real head_normed[16], head_factor, head[16];
} body_pass;

/* What a network learns: the action values q, or h, which predicts the TD error. */
typedef struct {
    body_weights body;
    learner_real out_weight[2 * 16], out_bias[2];
} value_weights;

/* A network on the stream: its parameters, their eligibility traces, its memory. */
typedef struct {
    value_weights w, z;
    body_memory memory;
} learner_values;

/* All that the learner is. */
typedef struct {
    /* Real numbers, in the order in which they are saved. */
    learner_values q, h;
    learner_real observation[3];
    learner_real trace_of_h;
    learner_real discounted_return;
    learner_real observations_mean[3];
    learner_real observations_mean_low[3];
    learner_real observations_variance[3];
    learner_real observations_variance_low[3];
    learner_real return_mean;
    learner_real return_mean_low;
    learner_real return_variance;
    learner_real return_variance_low;
    /* Integers, likewise. */
    int32_t observations_high;
    int32_t observations_low;
    int32_t return_high;
    int32_t return_low;
    int32_t action;
    int32_t greedy;
    int32_t cut;
    int32_t fresh;
    int32_t acted;
    int32_t step;
    uint32_t key[2];
    /* What act has computed for learn; it is not saved. */
    body_pass q_pass, h_pass;
    learner_real values[LEARNER_ACTIONS]; /* q(o, .) */
    learner_real td_error, value, epsilon;
    int32_t ready;
} learner;

/* The learner as it was exported. */
void learner_start(learner *self);

/* Take in an observation and choose an action, from 0 on; or an error. */
int learner_act(learner *self, const learner_real *observation);

/* Learn from what the action led to. After a time limit (truncated) the next value still counts;
   after either end the next act starts with a blank memory. */
int learner_learn(learner *self, learner_real reward, const learner_real *next, int terminated,
                  int truncated);

/* Let a transition go by unlearned. */
int learner_skip(learner *self, int done);

/* Bytes that save writes and load reads. */
size_t learner_bytes(void);
int learner_save(const learner *self, unsigned char *bytes, size_t length);
int learner_load(learner *self, const unsigned char *bytes, size_t length);

/* Td_error, value, epsilon of the last learn. */
void learner_metrics(const learner *self, learner_real metrics[3]);

/* sizeof(learner), for callers in other languages. */
size_t learner_size(void);

#ifdef __cplusplus
}
#endif

#endif
