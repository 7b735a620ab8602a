/* The limit: the same sockets receiving and discarding, or receiving and writing the blobs one after
 * another into a preallocated flat file. No parsing, no HDF5, nothing else.
 *
 * usage: limit ENDPOINT FRAMES FRAME_BYTES HIGH_WATER_MARK [FILE]
 *
 * Takes one series (start message, FRAMES frames of a header and one blob, end message) and prints
 * one JSON line: seconds from the first frame to the last, CPU seconds of the receiving thread and
 * of the process. The functions of libzmq are declared here, so that the very library that pyzmq
 * brings along can be linked without its headers (zmq.h of libzmq 4.3).
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct { unsigned char opaque[64] __attribute__((aligned(8))); } zmq_msg_t;
void *zmq_ctx_new(void);
void *zmq_socket(void *context, int type);
int zmq_setsockopt(void *socket, int option, const void *value, size_t size);
int zmq_connect(void *socket, const char *endpoint);
int zmq_msg_init(zmq_msg_t *message);
int zmq_msg_recv(zmq_msg_t *message, void *socket, int flags);
int zmq_msg_more(const zmq_msg_t *message);
int zmq_msg_close(zmq_msg_t *message);
void *zmq_msg_data(zmq_msg_t *message);
size_t zmq_msg_size(const zmq_msg_t *message);
enum { PULL = 7, RCVHWM = 24 };

static double seconds(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec + 1e-9 * now.tv_nsec;
}

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static void skip(void *socket) { /* one whole message */
    zmq_msg_t part;
    int more = 1;
    while (more) {
        zmq_msg_init(&part);
        if (zmq_msg_recv(&part, socket, 0) < 0) fail("zmq_msg_recv");
        more = zmq_msg_more(&part);
        zmq_msg_close(&part);
    }
}

int main(int argc, char **argv) {
    if (argc < 5) {
        fprintf(stderr, "usage: limit ENDPOINT FRAMES FRAME_BYTES HIGH_WATER_MARK [FILE]\n");
        return 2;
    }
    long frames = atol(argv[2]), frame_bytes = atol(argv[3]);
    int mark = atoi(argv[4]), file = -1;
    if (argc > 5) {
        file = open(argv[5], O_RDWR | O_CREAT | O_TRUNC, 0644);
        if (file < 0 || posix_fallocate(file, 0, (off_t)frames * frame_bytes)) fail(argv[5]);
    }
    void *socket = zmq_socket(zmq_ctx_new(), PULL);
    zmq_setsockopt(socket, RCVHWM, &mark, sizeof mark);
    if (zmq_connect(socket, argv[1])) fail(argv[1]);
    printf("{\"ready\": \"%s\"}\n", argv[1]);
    fflush(stdout);

    skip(socket); /* start message */
    double wall = 0, thread = 0, process = 0;
    off_t place = 0;
    for (long frame = 0; frame < frames; frame++) {
        zmq_msg_t header, blob;
        zmq_msg_init(&header);
        zmq_msg_init(&blob);
        if (zmq_msg_recv(&header, socket, 0) < 0 || !zmq_msg_more(&header)) fail("header");
        if (zmq_msg_recv(&blob, socket, 0) < 0) fail("blob");
        if (frame == 0) {
            wall = seconds(CLOCK_MONOTONIC);
            thread = seconds(CLOCK_THREAD_CPUTIME_ID);
            process = seconds(CLOCK_PROCESS_CPUTIME_ID);
        }
        if (file >= 0) {
            size_t size = zmq_msg_size(&blob);
            if (pwrite(file, zmq_msg_data(&blob), size, place) != (ssize_t)size) fail("pwrite");
            place += size;
        }
        zmq_msg_close(&header);
        zmq_msg_close(&blob);
    }
    wall = seconds(CLOCK_MONOTONIC) - wall;
    thread = seconds(CLOCK_THREAD_CPUTIME_ID) - thread;
    process = seconds(CLOCK_PROCESS_CPUTIME_ID) - process;
    skip(socket); /* end message */
    printf("{\"frames\": %ld, \"seconds\": %.6f, \"thread_seconds\": %.6f, \"cpu_seconds\": %.6f}\n",
           frames, wall, thread, process);
    fflush(stdout);
    return 0;
}
