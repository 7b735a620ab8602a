/* The limit: the same sockets receiving and discarding, or receiving and writing the blobs one after
 * another into a preallocated flat file. No parsing, no HDF5, nothing else.
 *
 * usage: limit ENDPOINT FRAMES FRAME_BYTES HIGH_WATER_MARK SOCKETS IO_THREADS [FILE]
 *
 * Takes one series (start message, FRAMES frames of a header and one blob of about FRAME_BYTES, end
 * message; with several sockets in any order) and prints one JSON line: seconds from the start message,
 * after which its file is allocated, to the last frame, CPU seconds of the receiving thread and of the
 * process. The functions of libzmq are declared here, so that the very library that pyzmq brings along can
 * be linked without its headers (zmq.h of libzmq 4.3).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct { unsigned char opaque[64] __attribute__((aligned(8))); } zmq_msg_t;
typedef struct { void *socket; int fd; short events, revents; } zmq_pollitem_t;
void *zmq_ctx_new(void);
int zmq_ctx_set(void *context, int option, int value);
void *zmq_socket(void *context, int type);
int zmq_setsockopt(void *socket, int option, const void *value, size_t size);
int zmq_connect(void *socket, const char *endpoint);
int zmq_msg_init(zmq_msg_t *message);
int zmq_msg_recv(zmq_msg_t *message, void *socket, int flags);
int zmq_msg_more(const zmq_msg_t *message);
int zmq_msg_close(zmq_msg_t *message);
int zmq_msg_move(zmq_msg_t *to, zmq_msg_t *from);
void *zmq_msg_data(zmq_msg_t *message);
size_t zmq_msg_size(const zmq_msg_t *message);
enum { PULL = 7, RCVHWM = 24, IO_THREADS = 1, DONTWAIT = 1, POLL_IN = 1, MOST_SOCKETS = 64 };

static zmq_pollitem_t items[MOST_SOCKETS];
static int sockets;
static unsigned turn;
static const struct timespec PAUSE = {0, 50000};

static double seconds(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec + 1e-9 * now.tv_nsec;
}

static void fail(const char *what) {
    perror(what);
    exit(1);
}

/* The first part of the next message; says which socket has the others. */
static void *receive_first(zmq_msg_t *part) {
    zmq_msg_init(part);
    for (;;) {
        for (int tried = 0; tried < sockets; tried++) {
            void *socket = items[turn++ % sockets].socket;
            if (zmq_msg_recv(part, socket, DONTWAIT) >= 0) return socket;
            if (errno != EAGAIN) fail("zmq_msg_recv");
        }
        /* Whoever waits in zmq_poll is woken for each message, which costs more than the message does. */
        nanosleep(&PAUSE, NULL);
    }
}

/* The last part of the next message, or the one that is larger than this, and its size: of a frame, that is
 * the blob, wherever it stands. */
static size_t receive(zmq_msg_t *part, size_t large) {
    void *socket = receive_first(part);
    int more = zmq_msg_more(part);
    while (more) {
        zmq_msg_t next;
        zmq_msg_init(&next);
        if (zmq_msg_recv(&next, socket, 0) < 0) fail("zmq_msg_recv");
        more = zmq_msg_more(&next);
        if (zmq_msg_size(part) <= large) zmq_msg_move(part, &next);
        zmq_msg_close(&next);
    }
    return zmq_msg_size(part);
}

int main(int argc, char **argv) {
    if (argc < 7 || atoi(argv[5]) < 1 || atoi(argv[5]) > MOST_SOCKETS) {
        fprintf(stderr, "usage: limit ENDPOINT FRAMES FRAME_BYTES HIGH_WATER_MARK SOCKETS IO_THREADS [FILE]\n");
        return 2;
    }
    long frames = atol(argv[2]), frame_bytes = atol(argv[3]);
    int mark = atoi(argv[4]), file = -1;
    sockets = atoi(argv[5]);
    if (argc > 7 && (file = open(argv[7], O_RDWR | O_CREAT | O_TRUNC, 0644)) < 0) fail(argv[7]);
    void *context = zmq_ctx_new();
    zmq_ctx_set(context, IO_THREADS, atoi(argv[6]));
    for (int i = 0; i < sockets; i++) {
        items[i].socket = zmq_socket(context, PULL);
        items[i].events = POLL_IN;
        zmq_setsockopt(items[i].socket, RCVHWM, &mark, sizeof mark);
        if (zmq_connect(items[i].socket, argv[1])) fail(argv[1]);
    }
    printf("{\"ready\": \"%s\"}\n", argv[1]);
    fflush(stdout);

    double wall = 0, thread = 0, process = 0;
    off_t place = 0;
    long others = 2; /* start and end message */
    for (long frame = 0; frame < frames;) {
        zmq_msg_t part;
        size_t size = receive(&part, (size_t)frame_bytes / 2);
        if (wall == 0) { /* the start message */
            wall = seconds(CLOCK_MONOTONIC);
            thread = seconds(CLOCK_THREAD_CPUTIME_ID);
            process = seconds(CLOCK_PROCESS_CPUTIME_ID);
            if (file >= 0 && (errno = posix_fallocate(file, 0, (off_t)frames * frame_bytes))) fail(argv[7]);
        }
        if (size > (size_t)frame_bytes / 2) {
            frame++;
            if (file >= 0 && pwrite(file, zmq_msg_data(&part), size, place) != (ssize_t)size) fail("pwrite");
            place += size;
        } else {
            others--;
        }
        zmq_msg_close(&part);
    }
    wall = seconds(CLOCK_MONOTONIC) - wall;
    thread = seconds(CLOCK_THREAD_CPUTIME_ID) - thread;
    process = seconds(CLOCK_PROCESS_CPUTIME_ID) - process;
    for (; others > 0; others--) {
        zmq_msg_t part;
        receive(&part, (size_t)frame_bytes / 2);
        zmq_msg_close(&part);
    }
    printf("{\"frames\": %ld, \"seconds\": %.6f, \"thread_seconds\": %.6f, \"cpu_seconds\": %.6f}\n",
           frames, wall, thread, process);
    fflush(stdout);
    return 0;
}
