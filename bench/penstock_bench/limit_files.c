/* The limit for several files: the same sockets receiving and discarding, or receiving and handing the blobs
 * to one thread per file, which writes them. No HDF5, no account, nothing else.
 *
 * usage: limit_files FRAMES,... FRAME_BYTES HIGH_WATER_MARK SOCKETS IO_THREADS FILES BLOCK PREFIX ENDPOINT...
 *
 * Takes series of FRAMES frames of FRAME_BYTES from each endpoint, with SOCKETS sockets for each: one for
 * each FRAMES, so that all but the first find the memory of the queues already touched, as a receiver does.
 * One endpoint: frames are dealt to FILES files in blocks of BLOCK frames by their index, as a receiver deals
 * them (receiver/files/dealing.py). Several: those of each go to a file of its own. FILES 0: they are
 * discarded. Files are PREFIX_part1.raw and so on; their threads get messages, not copies, at most two blocks
 * wait for each, and whoever has nothing to write allocates the space of its next frames. Prints one JSON
 * line per series: the moment at which all files are closed, or the last message has come, on the monotonic
 * clock, and the CPU seconds of the receiving thread and of the process from the first message on.
 *
 * The functions of libzmq are declared here, as in limit.c.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
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
int zmq_poll(zmq_pollitem_t *items, int count, long timeout);
int zmq_msg_init(zmq_msg_t *message);
int zmq_msg_recv(zmq_msg_t *message, void *socket, int flags);
int zmq_msg_move(zmq_msg_t *to, zmq_msg_t *from);
int zmq_msg_more(const zmq_msg_t *message);
int zmq_msg_close(zmq_msg_t *message);
void *zmq_msg_data(zmq_msg_t *message);
size_t zmq_msg_size(const zmq_msg_t *message);
enum { PULL = 7, RCVHWM = 24, IO_THREADS = 1, DONTWAIT = 1, POLL_IN = 1, MOST = 64, QUEUE = 4096, STEP = 1 << 22 };

typedef struct { zmq_msg_t message; long row; } job_t;
typedef struct {
    int descriptor;
    off_t size, allocated;
    job_t queue[QUEUE]; /* a ring */
    long put, taken, written;
    int ended;
    pthread_mutex_t lock;
    pthread_cond_t come, gone;
    pthread_t thread;
} part_t;

static zmq_pollitem_t sockets[MOST];
static int socket_count, per_endpoint;
static unsigned turn;
static long frames, frame_bytes, block, most_waiting;
static part_t *parts;
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

/* Rows of a part: frames of the first `frames` that are dealt to it. */
static long rows_of(long part, long files) {
    long turns = frames / (block * files), rest = frames % (block * files) - part * block;
    return turns * block + (rest < 0 ? 0 : rest > block ? block : rest);
}

static void *write_part(void *argument) {
    part_t *part = argument;
    pthread_mutex_lock(&part->lock);
    for (;;) {
        while (part->put == part->taken && !part->ended) {
            if (part->allocated >= part->size) {
                pthread_cond_wait(&part->come, &part->lock);
                continue;
            }
            pthread_mutex_unlock(&part->lock);
            off_t step = part->size - part->allocated < STEP ? part->size - part->allocated : STEP;
            /* Where the file system cannot, each write allocates what it needs. */
            part->allocated = fallocate(part->descriptor, 0, part->allocated, step) ? part->size
                                                                                    : part->allocated + step;
            pthread_mutex_lock(&part->lock);
        }
        if (part->put == part->taken) break;
        job_t *job = &part->queue[part->taken++ % QUEUE];
        pthread_mutex_unlock(&part->lock);
        off_t place = (off_t)job->row * frame_bytes;
        size_t size = zmq_msg_size(&job->message);
        if (pwrite(part->descriptor, zmq_msg_data(&job->message), size, place) != (ssize_t)size)
            fail("pwrite");
        zmq_msg_close(&job->message);
        if (part->allocated < place + (off_t)size) part->allocated = place + size;
        pthread_mutex_lock(&part->lock);
        part->written++;
        pthread_cond_signal(&part->gone);
    }
    pthread_mutex_unlock(&part->lock);
    if (close(part->descriptor)) fail("close");
    return NULL;
}

static void hand_over(part_t *part, zmq_msg_t *message, long row) {
    pthread_mutex_lock(&part->lock);
    while (part->put - part->written >= most_waiting) pthread_cond_wait(&part->gone, &part->lock);
    job_t *job = &part->queue[part->put++ % QUEUE];
    zmq_msg_init(&job->message);
    zmq_msg_move(&job->message, message);
    job->row = row;
    pthread_cond_signal(&part->come);
    pthread_mutex_unlock(&part->lock);
}

static void open_part(part_t *part, const char *prefix, int number, long rows) {
    char name[4096];
    snprintf(name, sizeof name, "%s_part%d.raw", prefix, number + 1);
    if ((part->descriptor = open(name, O_RDWR | O_CREAT | O_TRUNC, 0644)) < 0) fail(name);
    part->size = (off_t)rows * frame_bytes;
    pthread_mutex_init(&part->lock, NULL);
    pthread_cond_init(&part->come, NULL);
    pthread_cond_init(&part->gone, NULL);
    if ((errno = pthread_create(&part->thread, NULL, write_part, part))) fail("pthread_create");
}

/* The next message: its last part, the index in its header (-1: it is no frame), and its socket. */
static int receive(zmq_msg_t *part, long *index) {
    char head[4096];
    int at;
    zmq_msg_init(part);
    for (int tried = 0;; tried++) {
        at = turn++ % socket_count;
        if (zmq_msg_recv(part, sockets[at].socket, DONTWAIT) >= 0) break;
        if (errno != EAGAIN) fail("zmq_msg_recv");
        /* Whoever waits in zmq_poll is woken for each message, which costs more than the message does. */
        if (tried % socket_count == socket_count - 1) nanosleep(&PAUSE, NULL);
    }
    size_t size = zmq_msg_size(part) < sizeof head - 1 ? zmq_msg_size(part) : sizeof head - 1;
    memcpy(head, zmq_msg_data(part), size);
    head[size] = 0;
    const char *key = strstr(head, "\"htype\":\"image\"") ? strstr(head, "\"frame\":") : NULL;
    *index = key ? atol(key + strlen("\"frame\":")) : -1;
    while (zmq_msg_more(part)) {
        zmq_msg_close(part);
        zmq_msg_init(part);
        if (zmq_msg_recv(part, sockets[at].socket, 0) < 0) fail("zmq_msg_recv");
    }
    return at;
}

/* One series of `frames` frames from each endpoint. */
static void take_series(int endpoints, int files, const char *prefix) {
    zmq_poll(sockets, socket_count, -1); /* between series, others are measured */
    double thread = seconds(CLOCK_THREAD_CPUTIME_ID), process = seconds(CLOCK_PROCESS_CPUTIME_ID);
    memset(parts, 0, files * sizeof *parts);
    for (int i = 0; i < files; i++)
        open_part(&parts[i], prefix, i, endpoints > 1 ? frames : rows_of(i, files));
    long wanted = frames * endpoints, others = 2L * endpoints; /* start and end messages */
    while (wanted > 0 || others > 0) {
        zmq_msg_t part;
        long index;
        int at = receive(&part, &index);
        if (index < 0) others--;
        else wanted--;
        if (index < 0 || !files) {
            zmq_msg_close(&part);
        } else if (endpoints > 1) {
            hand_over(&parts[at / per_endpoint], &part, index);
        } else {
            long number = index / block;
            hand_over(&parts[number % files], &part, number / files * block + index % block);
        }
    }
    for (int i = 0; i < files; i++) {
        pthread_mutex_lock(&parts[i].lock);
        parts[i].ended = 1;
        pthread_cond_signal(&parts[i].come);
        pthread_mutex_unlock(&parts[i].lock);
    }
    for (int i = 0; i < files; i++) pthread_join(parts[i].thread, NULL);
    double ended = seconds(CLOCK_MONOTONIC);
    printf("{\"ended\": %.6f, \"thread_seconds\": %.6f, \"cpu_seconds\": %.6f}\n", ended,
           seconds(CLOCK_THREAD_CPUTIME_ID) - thread, seconds(CLOCK_PROCESS_CPUTIME_ID) - process);
    fflush(stdout);
}

int main(int argc, char **argv) {
    int endpoints = argc - 9, files = argc > 6 ? atoi(argv[6]) : 0;
    per_endpoint = argc > 4 ? atoi(argv[4]) : 0;
    socket_count = endpoints * per_endpoint;
    if (endpoints < 1 || socket_count < 1 || socket_count > MOST ||
        (files && endpoints > 1 && files != endpoints)) {
        fprintf(stderr, "usage: limit_files FRAMES,... FRAME_BYTES HIGH_WATER_MARK SOCKETS IO_THREADS FILES "
                        "BLOCK PREFIX ENDPOINT...\n");
        return 2;
    }
    int mark = atoi(argv[3]);
    frame_bytes = atol(argv[2]);
    block = atol(argv[7]);
    most_waiting = 2 * block < QUEUE ? 2 * block : QUEUE;
    void *context = zmq_ctx_new();
    zmq_ctx_set(context, IO_THREADS, atoi(argv[5]));
    for (int i = 0; i < socket_count; i++) {
        void *socket = zmq_socket(context, PULL);
        zmq_setsockopt(socket, RCVHWM, &mark, sizeof mark);
        if (zmq_connect(socket, argv[9 + i / per_endpoint])) fail(argv[9 + i / per_endpoint]);
        sockets[i] = (zmq_pollitem_t){socket, 0, POLL_IN, 0};
    }
    parts = calloc(files ? files : 1, sizeof *parts);
    printf("{\"ready\": %d}\n", socket_count);
    fflush(stdout);
    for (char *next = argv[1]; *next; next += *next == ',') {
        frames = strtol(next, &next, 10);
        take_series(endpoints, files, argv[8]);
    }
    return 0;
}
