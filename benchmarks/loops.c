/* The loops that the compiled ones are measured against: UCB1 and W-UCB, written by hand.
 *
 * usage: loops ucb1 ROUNDS RUNS | loops wucb ROUNDS RUNS
 * prints seconds and the pulls of the last arm, so that nothing is optimised away.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint64_t s[4];

static uint64_t rotl(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }

static uint64_t next(void) { /* xoshiro256+ */
    uint64_t result = s[0] + s[3], t = s[1] << 17;
    s[2] ^= s[0]; s[3] ^= s[1]; s[1] ^= s[2]; s[0] ^= s[3]; s[2] ^= t; s[3] = rotl(s[3], 45);
    return result;
}

static double uniform(void) { return (double)(next() >> 11) * 0x1.0p-53; }

static double weight(double p) { /* Tversky-Kahneman, eta = 0.61 */
    double a = pow(p, 0.61);
    return a / pow(a + pow(1.0 - p, 0.61), 1.0 / 0.61);
}

static long ucb1(long rounds) { /* ten Bernoulli arms */
    enum { K = 10 };
    double sum[K] = {0};
    long pulls[K] = {0};
    for (long m = 1; m <= rounds; m++) {
        int arm = 0;
        if (m <= K) {
            arm = (int)m - 1;
        } else {
            double best = -1.0, c = 2.0 * log((double)m);
            for (int k = 0; k < K; k++) {
                double index = sum[k] / pulls[k] + sqrt(c / pulls[k]);
                if (index > best) { best = index; arm = k; }
            }
        }
        sum[arm] += uniform() < 0.1 + 0.08 * arm;
        pulls[arm]++;
    }
    return pulls[K - 1];
}

static long wucb(long rounds) { /* 50 with probability .1 against 7 or 0, two outcomes each */
    enum { K = 2 };
    const double high[K] = {50.0, 14.0}, chance[K] = {0.1, 0.5};
    double value[K] = {0};
    long wins[K] = {0}, pulls[K] = {0};
    for (long m = 1; m <= rounds; m++) {
        int arm = 0;
        if (m <= K) {
            arm = (int)m - 1;
        } else {
            double best = -1.0, x = 1.5 * log((double)m);
            for (int k = 0; k < K; k++) {
                double index = value[k] + 50.0 / 0.61 * pow(x / pulls[k], 0.305);
                if (index > best) { best = index; arm = k; }
            }
        }
        wins[arm] += uniform() < chance[arm];
        pulls[arm]++;
        value[arm] = high[arm] * weight((double)wins[arm] / pulls[arm]);
    }
    return pulls[K - 1];
}

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    long rounds = atol(argv[2]), runs = atol(argv[3]), seen = 0;
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (long run = 0; run < runs; run++) {
        for (int i = 0; i < 4; i++) s[i] = 0x9e3779b97f4a7c15ULL * (uint64_t)(4 * run + i + 1);
        seen += strcmp(argv[1], "ucb1") == 0 ? ucb1(rounds) : wucb(rounds);
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    printf("%.9f %ld\n", (end.tv_sec - start.tv_sec) + 1e-9 * (end.tv_nsec - start.tv_nsec), seen);
    return 0;
}
