/* The sender: one series of STINS messages over one PUSH socket per stream, as fast as it is taken.
 *
 * usage: send FRAMES FRAME_BYTES HIGH_WATER_MARK PEERS IO_THREADS {ENDPOINT START METADATA IMAGE END}...
 *
 * Five arguments per stream: the address to bind, the two parts of the start message, and what follows the
 * numbers in each image header and in the end message, such as "shape":[1000,1000],"type":"uint16"}.
 *
 * Each stream has a thread, which deals its messages to PEERS receivers and numbers them from 0. Frames are
 * 8-byte words: word k is k times an odd number; in its place, each 8192nd word and the last one are
 * FRAME + (STREAM << 40). They lie in memory that is filled before the series and passed to ZeroMQ without
 * a copy; it is written again, with the next number, once ZeroMQ has sent it. Lines of JSON on standard
 * output: when the sockets are bound, when all receivers are connected and the series begins ("started", of
 * the monotonic clock), and when all has been sent, with the processor time of the series.
 *
 * The functions of libzmq are declared here, as in limit.c.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct { unsigned char opaque[64] __attribute__((aligned(8))); } zmq_msg_t;
void *zmq_ctx_new(void);
int zmq_ctx_set(void *context, int option, int value);
int zmq_ctx_term(void *context);
void *zmq_socket(void *context, int type);
int zmq_close(void *socket);
int zmq_setsockopt(void *socket, int option, const void *value, size_t size);
int zmq_bind(void *socket, const char *endpoint);
int zmq_connect(void *socket, const char *endpoint);
int zmq_socket_monitor(void *socket, const char *endpoint, int events);
int zmq_msg_init(zmq_msg_t *message);
int zmq_msg_init_data(zmq_msg_t *message, void *data, size_t size, void (*done)(void *, void *), void *hint);
int zmq_msg_recv(zmq_msg_t *message, void *socket, int flags);
int zmq_msg_send(zmq_msg_t *message, void *socket, int flags);
void *zmq_msg_data(zmq_msg_t *message);
int zmq_msg_close(zmq_msg_t *message);
int zmq_send(void *socket, const void *data, size_t size, int flags);
enum { PAIR = 0, PUSH = 8, LINGER = 17, SNDHWM = 23, RCVTIMEO = 27, IO_THREADS = 1, SNDMORE = 2 };
enum { EVENT_HANDSHAKE_SUCCEEDED = 0x1000, PATIENCE_MS = 30000, ARGUMENTS = 5, MARK_WORDS = 8192 };
static const uint64_t ODD = 0x9E3779B97F4A7C15u;

typedef struct { uint64_t *words; atomic_int busy; } slot_t;
typedef struct {
    void *socket, *monitor;
    char **text; /* endpoint, start, metadata, image, end */
    uint64_t number;
    slot_t *slots;
    pthread_t thread;
} stream_t;

static long frames, slot_count;
static size_t frame_bytes;
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

static void sent(void *data, void *slot) {
    (void)data;
    atomic_store(&((slot_t *)slot)->busy, 0);
}

static slot_t *free_slot(stream_t *stream, long *at) {
    for (;;) {
        for (long tried = 0; tried < slot_count; tried++) {
            slot_t *slot = &stream->slots[(*at)++ % slot_count];
            if (!atomic_load(&slot->busy)) return slot;
        }
        nanosleep(&PAUSE, NULL);
    }
}

static void send_text(stream_t *stream, const char *text, int flags) {
    if (zmq_send(stream->socket, text, strlen(text), flags) < 0) fail("zmq_send");
}

static void *send_series(void *argument) {
    stream_t *stream = argument;
    size_t words = frame_bytes / 8, room = strlen(stream->text[3]) + strlen(stream->text[4]) + 100;
    char *head = malloc(room);
    long at = 0;
    send_text(stream, stream->text[1], SNDMORE);
    send_text(stream, stream->text[2], 0);
    for (long frame = 0; frame < frames; frame++) {
        slot_t *slot = free_slot(stream, &at);
        uint64_t mark = (uint64_t)frame + (stream->number << 40);
        for (size_t word = 0; word < words; word += MARK_WORDS) slot->words[word] = mark;
        slot->words[words - 1] = mark;
        atomic_store(&slot->busy, 1);
        snprintf(head, room, "{\"htype\":\"image\",\"msg_number\":%ld,\"frame\":%ld,%s", frame + 1, frame,
                 stream->text[3]);
        send_text(stream, head, SNDMORE);
        zmq_msg_t blob;
        zmq_msg_init_data(&blob, slot->words, frame_bytes, sent, slot);
        if (zmq_msg_send(&blob, stream->socket, 0) < 0) fail("zmq_msg_send");
    }
    snprintf(head, room, "{\"htype\":\"series_end\",\"msg_number\":%ld,%s", frames + 1, stream->text[4]);
    send_text(stream, head, 0);
    free(head);
    return NULL;
}

/* Memory for what the queues of ZeroMQ may hold, and for what is being sent. */
static void fill(stream_t *stream) {
    stream->slots = calloc(slot_count, sizeof *stream->slots);
    for (long i = 0; i < slot_count; i++) {
        uint64_t *words = aligned_alloc(64, (frame_bytes + 63) / 64 * 64);
        if (!stream->slots || !words) fail("memory for the frames");
        for (size_t word = 0; word < frame_bytes / 8; word++) words[word] = word * ODD;
        stream->slots[i].words = words;
    }
}

static void await(stream_t *stream, int peers) {
    while (peers > 0) {
        zmq_msg_t event, address;
        uint16_t kind;
        zmq_msg_init(&event);
        zmq_msg_init(&address);
        if (zmq_msg_recv(&event, stream->monitor, 0) < 0) fail("not all receivers have connected");
        memcpy(&kind, zmq_msg_data(&event), sizeof kind);
        if (zmq_msg_recv(&address, stream->monitor, 0) < 0) fail("zmq_msg_recv");
        peers -= kind == EVENT_HANDSHAKE_SUCCEEDED;
        zmq_msg_close(&event);
        zmq_msg_close(&address);
    }
}

int main(int argc, char **argv) {
    int streams = (argc - 6) / ARGUMENTS;
    if (streams < 1 || (argc - 6) % ARGUMENTS) {
        fprintf(stderr, "usage: send FRAMES FRAME_BYTES HIGH_WATER_MARK PEERS IO_THREADS "
                        "{ENDPOINT START METADATA IMAGE END}...\n");
        return 2;
    }
    int mark = atoi(argv[3]), peers = atoi(argv[4]), linger = PATIENCE_MS, patience = PATIENCE_MS;
    frames = atol(argv[1]);
    frame_bytes = atol(argv[2]) / 8 * 8;
    slot_count = (long)peers * (mark + 2) + 2;
    void *context = zmq_ctx_new();
    zmq_ctx_set(context, IO_THREADS, atoi(argv[5]));
    stream_t *all = calloc(streams, sizeof *all);
    for (int i = 0; i < streams; i++) {
        stream_t *stream = &all[i];
        char watch[32];
        snprintf(watch, sizeof watch, "inproc://monitor-%d", i);
        stream->number = i;
        stream->text = argv + 6 + i * ARGUMENTS;
        fill(stream);
        stream->socket = zmq_socket(context, PUSH);
        zmq_setsockopt(stream->socket, SNDHWM, &mark, sizeof mark);
        zmq_setsockopt(stream->socket, LINGER, &linger, sizeof linger);
        if (zmq_socket_monitor(stream->socket, watch, EVENT_HANDSHAKE_SUCCEEDED)) fail("zmq_socket_monitor");
        stream->monitor = zmq_socket(context, PAIR);
        zmq_setsockopt(stream->monitor, RCVTIMEO, &patience, sizeof patience);
        if (zmq_connect(stream->monitor, watch)) fail(watch);
        if (zmq_bind(stream->socket, stream->text[0])) fail(stream->text[0]);
    }
    printf("{\"bound\": %d}\n", streams);
    fflush(stdout);
    for (int i = 0; i < streams; i++) await(&all[i], peers);
    double process = seconds(CLOCK_PROCESS_CPUTIME_ID);
    printf("{\"started\": %.6f}\n", seconds(CLOCK_MONOTONIC));
    fflush(stdout);
    for (int i = 0; i < streams; i++)
        if ((errno = pthread_create(&all[i].thread, NULL, send_series, &all[i]))) fail("pthread_create");
    for (int i = 0; i < streams; i++) pthread_join(all[i].thread, NULL);
    for (int i = 0; i < streams; i++) {
        zmq_socket_monitor(all[i].socket, NULL, 0);
        zmq_close(all[i].monitor);
        zmq_close(all[i].socket);
    }
    zmq_ctx_term(context); /* returns once all has been sent */
    printf("{\"ended\": %.6f, \"cpu_seconds\": %.6f}\n", seconds(CLOCK_MONOTONIC),
           seconds(CLOCK_PROCESS_CPUTIME_ID) - process);
    fflush(stdout);
    return 0;
}
