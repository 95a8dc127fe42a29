/* clang-format off
 * The C interface of Prenorm: load a model, evaluate tokens, generate text, chat. C99; all that the shared library
 * exports, together with the normalization kernels of norm_c.h.
 *
 * Errors      every function that can fail returns a prenorm_status; `error`, if not null, then also holds a message:
 *             what is wrong; where; what to do, on lines of their own. After a failure nothing has changed, outputs
 *             included, unless the function says otherwise. Nothing throws, aborts, exits, prints or installs a signal
 *             handler.
 * Structs     begin with their own size, which the initializers (PRENORM_..._INIT) set: programs and libraries of
 *             different age agree on what both know. Options may be null: the defaults.
 * Ownership   what a function hands out by `T**` is the caller's, who frees it with the function of that type. Every
 *             free function takes null. Arguments are only read during the call, unless said otherwise.
 * Text        UTF-8, ending in a zero byte.
 * Threads     model: immutable, any number of threads. session: one thread at a time; of two calls at once the later
 *             returns PRENORM_E_BUSY. prenorm_session_cancel and prenorm_session_free may come from any thread at any
 *             time. encoder: as session. error, result, buffer: one thread at a time. After fork() the child may go on
 *             with its copy of a session or encoder.
 * Callbacks   run on the calling thread, but for profile sinks. They must not throw or jump out. On the session that
 *             runs they may call prenorm_session_cancel and prenorm_session_free, on other objects everything.
 */
/* clang-format on */
#ifndef PRENORM_PRENORM_H_
#define PRENORM_PRENORM_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define PRENORM_API __attribute__((visibility("default")))
#else
#define PRENORM_API
#endif

/* Changes when a program built before would no longer work; the number in the shared library's name. */
#define PRENORM_ABI_VERSION 1

/* ---- Status and errors ---- */

typedef int32_t prenorm_status;
enum {
  PRENORM_OK = 0,
  PRENORM_E_INVALID_ARGUMENT = 1,  /* null, empty, out of range, or not what the model can make sense of */
  PRENORM_E_NOT_FOUND = 2,         /* a file, tensor, key or name does not exist */
  PRENORM_E_IO = 3,                /* the system refused to read, write or map a file */
  PRENORM_E_BAD_MODEL = 4,         /* a file breaks its own format */
  PRENORM_E_UNSUPPORTED = 5,       /* well-formed, but not something that runs here */
  PRENORM_E_OUT_OF_MEMORY = 6,     /* an allocation failed; the message has the bytes where they are known */
  PRENORM_E_CONTEXT_FULL = 7,      /* the tokens do not fit in the context */
  PRENORM_E_TEMPLATE = 8,          /* the chat template raised an error */
  PRENORM_E_VERIFICATION = 9,      /* a comparison with a reference failed */
  PRENORM_E_CANCELLED = 10,        /* by a callback, prenorm_session_cancel or prenorm_encoder_cancel */
  PRENORM_E_BUSY = 11,             /* the session or encoder is in use by another call */
  PRENORM_E_BUFFER_TOO_SMALL = 12, /* nothing was written but the size needed */
  PRENORM_E_INTERNAL = 13          /* a fault of Prenorm */
};

typedef struct prenorm_error prenorm_error;
typedef struct prenorm_model prenorm_model;
typedef struct prenorm_session prenorm_session;
typedef struct prenorm_encoder prenorm_encoder;
typedef struct prenorm_result prenorm_result;
typedef struct prenorm_buffer prenorm_buffer;

/* PRENORM_ABI_VERSION of the library that runs. */
PRENORM_API uint32_t prenorm_abi_version(void);
/* Its release, e.g. "0.1.0". */
PRENORM_API const char* prenorm_version(void);
/* "invalid_argument"; "unknown" for a number that is none. Static. */
PRENORM_API const char* prenorm_status_name(prenorm_status status);

/* A place for messages, to be used for any number of calls. Null when there is no memory for it. */
PRENORM_API prenorm_error* prenorm_error_new(void);
PRENORM_API void prenorm_error_free(prenorm_error* error);
/* Of the last call that was given `error`. The message lives until the next such call; "" after a success. */
PRENORM_API prenorm_status prenorm_error_status(const prenorm_error* error);
PRENORM_API const char* prenorm_error_message(const prenorm_error* error);

/* ---- Callbacks ---- */

enum { PRENORM_CONTINUE = 0, PRENORM_STOP = 1 };
enum { PRENORM_LOG_INFO = 0, PRENORM_LOG_WARNING = 1 };

/* `share` in [0, 1] of the work is done. Return PRENORM_STOP to cancel. */
typedef int32_t (*prenorm_progress_fn)(void* user, float share);
/* What a user may want to know; one sentence or line. */
typedef void (*prenorm_log_fn)(void* user, int32_t level, const char* message);
/* The next piece of text, whole characters and possibly none, and the token that caused it (-1: text that was held back
 * until an interruption). `text` has `bytes` bytes and a zero behind them. Return PRENORM_STOP to end the answer here.
 */
typedef int32_t (*prenorm_token_fn)(void* user, const char* text, size_t bytes, int32_t token);

/* One operator on one thread of the engine. */
typedef struct {
  uint32_t size;
  int32_t layer;  /* -1 outside the layers */
  int32_t thread; /* 0 ... threads - 1 */
  int32_t reserved;
  const char* kind;  /* "norm", "matmul", "attention", ...; static */
  const char* site;  /* "attn_norm", "qkv", "final_norm", ...; static */
  uint64_t begin_ns; /* monotonic clock */
  uint64_t end_ns;
} prenorm_profile_event;
/* Called on every thread of the engine at once, without a lock: keep one buffer a thread. */
typedef void (*prenorm_profile_fn)(void* user, const prenorm_profile_event* event);

/* ---- Models ---- */

typedef struct {
  uint32_t size;
  int32_t no_mmap; /* 1: read the file into memory. 0: map it; once it is changed calls fail, truncated: SIGBUS too */
  prenorm_progress_fn progress;
  void* progress_user;
  prenorm_log_fn log;
  void* log_user;
  /* A folder for prepared weights, or null. The weights then come from a file in there, made first where there is none,
   * which all processes that name this folder map read-only: they have one copy in memory, and none re-orders them. The
   * file may be removed at any time, but not truncated. Not together with no_mmap; without meaning for a model from
   * memory. */
  const char* prepared_folder;
} prenorm_model_options;
#define PRENORM_MODEL_OPTIONS_INIT \
  { sizeof(prenorm_model_options), 0, NULL, NULL, NULL, NULL, NULL }

typedef struct {
  uint32_t size;
  int32_t bos;          /* beginning of a text, -1 for none */
  int32_t eos;          /* end of a text, -1 for none */
  int32_t adds_bos;     /* whether PRENORM_ADD_SPECIAL puts bos in front */
  uint64_t vocab_size;  /* logits of a position; ids are below it */
  uint64_t max_seq_len; /* tokens */
  uint64_t dim;
  uint64_t n_layers;
  uint64_t weight_bytes;
} prenorm_model_info;
#define PRENORM_MODEL_INFO_INIT \
  { sizeof(prenorm_model_info), -1, -1, 0, 0, 0, 0, 0, 0 }

enum {
  PRENORM_MODEL_ARCHITECTURE = 0,
  PRENORM_MODEL_NAME = 1,
  PRENORM_MODEL_QUANTIZATION = 2,
  PRENORM_MODEL_CHAT_TEMPLATE = 3
};

/* A GGUF file, or a folder as Hugging Face lays models out. */
PRENORM_API prenorm_status prenorm_model_load(const char* path, const prenorm_model_options* options,
                                              prenorm_model** model, prenorm_error* error);
/* The bytes of a GGUF file, which are copied. */
PRENORM_API prenorm_status prenorm_model_load_memory(const void* bytes, size_t n_bytes,
                                                     const prenorm_model_options* options, prenorm_model** model,
                                                     prenorm_error* error);
/* Sessions of the model keep what they need of it: it may be freed before them. */
PRENORM_API void prenorm_model_free(prenorm_model* model);
PRENORM_API prenorm_status prenorm_model_get_info(const prenorm_model* model, prenorm_model_info* info,
                                                  prenorm_error* error);
/* `which` is one of PRENORM_MODEL_...; the text is "" where the file has none, and lives until prenorm_model_free. */
PRENORM_API prenorm_status prenorm_model_get_text(const prenorm_model* model, int32_t which, const char** text,
                                                  prenorm_error* error);

/* ---- Tokens ---- */

enum {
  PRENORM_ADD_SPECIAL = 1,   /* what the model puts around a text, such as its beginning token */
  PRENORM_PARSE_SPECIAL = 2, /* markers in the text, such as <|im_end|>, become control tokens */
  PRENORM_WITH_SPECIAL = 4   /* detokenize, piece: control tokens have a text */
};

/* The ids of the `n_bytes` bytes at `text`. *n_tokens becomes their number, also with PRENORM_E_BUFFER_TOO_SMALL;
 * `tokens` null with `capacity` 0 asks for it alone. `flags`: PRENORM_ADD_SPECIAL, PRENORM_PARSE_SPECIAL. */
PRENORM_API prenorm_status prenorm_tokenize(const prenorm_model* model, const char* text, size_t n_bytes,
                                            uint32_t flags, int32_t* tokens, size_t capacity, size_t* n_tokens,
                                            prenorm_error* error);
/* The text of a sequence, valid UTF-8. `capacity` counts the zero byte at the end, *n_bytes does not; `text` null with
 * `capacity` 0 asks for *n_bytes alone. `flags`: PRENORM_WITH_SPECIAL. */
PRENORM_API prenorm_status prenorm_detokenize(const prenorm_model* model, const int32_t* tokens, size_t n_tokens,
                                              uint32_t flags, char* text, size_t capacity, size_t* n_bytes,
                                              prenorm_error* error);
/* The bytes of one token, possibly a part of a character, possibly none. Otherwise as prenorm_detokenize. */
PRENORM_API prenorm_status prenorm_token_piece(const prenorm_model* model, int32_t token, uint32_t flags, char* text,
                                               size_t capacity, size_t* n_bytes, prenorm_error* error);

/* ---- Sessions ---- */

enum {
  PRENORM_CACHE_AUTO = 0,
  PRENORM_CACHE_F32 = 1,
  PRENORM_CACHE_F16 = 2,
  PRENORM_CACHE_BF16 = 3,
  PRENORM_CACHE_INT8 = 4
};

typedef struct {
  uint32_t size;
  int32_t threads;  /* 0: as many as the process may use */
  uint64_t context; /* tokens; 0: the model's, at most 8192 */
  uint64_t chunk;   /* prompt tokens evaluated together; 0: 512 */
  int32_t cache;    /* PRENORM_CACHE_...: element type of the key-value cache */
  int32_t reserved; /* 0 */
  prenorm_log_fn log;
  void* log_user;
} prenorm_session_options;
#define PRENORM_SESSION_OPTIONS_INIT \
  { sizeof(prenorm_session_options), 0, 0, 0, PRENORM_CACHE_AUTO, 0, NULL, NULL }

typedef struct {
  uint32_t size;
  int32_t threads;
  uint64_t position;     /* tokens evaluated */
  uint64_t capacity;     /* tokens that fit */
  uint64_t memory_bytes; /* of cache and activations */
} prenorm_session_info;
#define PRENORM_SESSION_INFO_INIT \
  { sizeof(prenorm_session_info), 0, 0, 0, 0 }

/* PRENORM_E_OUT_OF_MEMORY names the bytes that the context needs. */
PRENORM_API prenorm_status prenorm_session_new(const prenorm_model* model, const prenorm_session_options* options,
                                               prenorm_session** session, prenorm_error* error);
/* A session that is in use is cancelled, and freed when its call ends. */
PRENORM_API void prenorm_session_free(prenorm_session* session);
PRENORM_API prenorm_status prenorm_session_get_info(prenorm_session* session, prenorm_session_info* info,
                                                    prenorm_error* error);

/* Evaluates tokens behind those already there. */
PRENORM_API prenorm_status prenorm_session_eval(prenorm_session* session, const int32_t* tokens, size_t n_tokens,
                                                prenorm_error* error);
/* Copies the logits, or the logarithms of the probabilities, of the last position into `values`, vocab_size of them.
 * *n_values becomes their number, as in prenorm_tokenize. PRENORM_E_INVALID_ARGUMENT where there are none. */
PRENORM_API prenorm_status prenorm_session_logits(prenorm_session* session, float* values, size_t capacity,
                                                  size_t* n_values, prenorm_error* error);
PRENORM_API prenorm_status prenorm_session_logprobs(prenorm_session* session, float* values, size_t capacity,
                                                    size_t* n_values, prenorm_error* error);

/* Forgets everything from `position` on. There are no logits then until the next evaluation. */
PRENORM_API prenorm_status prenorm_session_rewind(prenorm_session* session, uint64_t position, prenorm_error* error);
/* `session` becomes the first `position` tokens of `from`, a session of the same model and cache type. */
PRENORM_API prenorm_status prenorm_session_fork(prenorm_session* session, prenorm_session* from, uint64_t position,
                                                prenorm_error* error);
/* The whole session as bytes, or as a file that appears when it is complete; and back, into a session of the same model
 * and cache type in any process. Bytes that are damaged, cut or of something else are refused and change nothing. */
PRENORM_API prenorm_status prenorm_session_save(prenorm_session* session, prenorm_buffer** buffer,
                                                prenorm_error* error);
PRENORM_API prenorm_status prenorm_session_restore(prenorm_session* session, const void* bytes, size_t n_bytes,
                                                   prenorm_error* error);
PRENORM_API prenorm_status prenorm_session_save_file(prenorm_session* session, const char* path, prenorm_error* error);
PRENORM_API prenorm_status prenorm_session_restore_file(prenorm_session* session, const char* path,
                                                        prenorm_error* error);
/* The bytes live until prenorm_buffer_free. */
PRENORM_API prenorm_status prenorm_buffer_get(const prenorm_buffer* buffer, const void** bytes, size_t* n_bytes,
                                              prenorm_error* error);
PRENORM_API void prenorm_buffer_free(prenorm_buffer* buffer);

/* Ends the call that runs in `session`, within a layer: prenorm_session_eval returns PRENORM_E_CANCELLED, generation
 * the text so far. Where none runs, the next of these ends at once. From any thread, also from a signal handler. */
PRENORM_API void prenorm_session_cancel(prenorm_session* session);
/* Sends every operator of later calls to `profile`; null for none. */
PRENORM_API prenorm_status prenorm_session_set_profile(prenorm_session* session, prenorm_profile_fn profile, void* user,
                                                       prenorm_error* error);

/* ---- Generation ---- */

/* Names and meaning as in Hugging Face transformers. */
typedef struct {
  uint32_t size;
  int32_t ignore_end_tokens; /* 1: go on after the model's end tokens */
  int64_t max_new_tokens;    /* -1: until an end token, a stop text or a full context. 0: only evaluate the prompt */
  uint64_t seed;
  float temperature;        /* 0: greedy */
  float top_p;              /* in (0, 1]; 1: off */
  float min_p;              /* in [0, 1]; 0: off */
  float typical_p;          /* in (0, 1]; 1: off */
  int64_t top_k;            /* 0 or less: off */
  float repetition_penalty; /* above 0; 1: off */
  float presence_penalty;
  float frequency_penalty;
  uint32_t no_repeat_ngram_size; /* 0: off */
  const char* const* stop;       /* n_stop texts: the answer ends before the first of them */
  size_t n_stop;
  const int32_t* bias_tokens; /* n_bias ids, and what is added to their logits */
  const float* bias_values;
  size_t n_bias;
  prenorm_token_fn on_token;
  void* on_token_user;
} prenorm_generate_options;
#define PRENORM_GENERATE_OPTIONS_INIT                                                                                \
  {                                                                                                                  \
    sizeof(prenorm_generate_options), 0, -1, 0, 0.0f, 1.0f, 0.0f, 1.0f, 0, 1.0f, 0.0f, 0.0f, 0, NULL, 0, NULL, NULL, \
        0, NULL, NULL                                                                                                \
  }

enum { PRENORM_FINISH_STOP = 0, PRENORM_FINISH_LENGTH = 1, PRENORM_FINISH_INTERRUPTED = 2 };

/* What a prenorm_result holds; the pointers live as long as it does. */
typedef struct {
  uint32_t size;
  int32_t finish_reason; /* PRENORM_FINISH_...: an end token or stop text, a length, an interruption */
  const char* text;      /* valid UTF-8 */
  size_t n_bytes;
  const int32_t* tokens; /* generated, a final end token included; of a rendered chat: the prompt */
  size_t n_tokens;
  uint64_t prompt_tokens; /* evaluated before the first generated token */
  uint64_t prefill_ns;
  uint64_t decode_ns;
  uint64_t ttft_ns; /* from the call to the first token */
} prenorm_result_info;
#define PRENORM_RESULT_INFO_INIT \
  { sizeof(prenorm_result_info), 0, NULL, 0, NULL, 0, 0, 0, 0, 0 }

/* Continues what `session` holds, plus `prompt`, which may be empty where it holds something. Penalties count all of
 * it. `result` may be null where the callback is enough. An interruption is a success with PRENORM_FINISH_INTERRUPTED.
 */
PRENORM_API prenorm_status prenorm_generate(prenorm_session* session, const int32_t* prompt, size_t n_prompt,
                                            const prenorm_generate_options* options, prenorm_result** result,
                                            prenorm_error* error);
PRENORM_API prenorm_status prenorm_result_get_info(const prenorm_result* result, prenorm_result_info* info,
                                                   prenorm_error* error);
PRENORM_API void prenorm_result_free(prenorm_result* result);

/* ---- Chat ---- */

typedef struct {
  uint32_t size;       /* the same in all messages of an array, which it is the stride of */
  uint32_t reserved;   /* 0 */
  const char* role;    /* "system", "user", "assistant", "tool", ... */
  const char* content; /* plain text: markers in it never become control tokens */
  const char* fields;  /* JSON object of further members (tool_calls, name, ...), or null */
} prenorm_chat_message;
#define PRENORM_CHAT_MESSAGE_INIT(role, content) \
  { sizeof(prenorm_chat_message), 0, (role), (content), NULL }

typedef struct {
  uint32_t size;
  int32_t no_generation_prompt; /* 1: end where the last message ends, not where the assistant begins to speak */
  const char* arguments;        /* JSON object of template variables, e.g. {"enable_thinking": false}, or null */
} prenorm_chat_options;
#define PRENORM_CHAT_OPTIONS_INIT \
  { sizeof(prenorm_chat_options), 0, NULL }

/* The prompt that the model's own template makes of `messages`, as text and tokens. */
PRENORM_API prenorm_status prenorm_render_chat(const prenorm_model* model, const prenorm_chat_message* messages,
                                               size_t n_messages, const prenorm_chat_options* options,
                                               prenorm_result** result, prenorm_error* error);
/* Renders `messages`, the whole conversation, and generates the answer. What the session holds of it already is kept,
 * everything else forgotten. `result` as in prenorm_generate. */
PRENORM_API prenorm_status prenorm_chat(prenorm_session* session, const prenorm_chat_message* messages,
                                        size_t n_messages, const prenorm_chat_options* chat_options,
                                        const prenorm_generate_options* options, prenorm_result** result,
                                        prenorm_error* error);

/* ---- Embeddings ---- */

/* How the rows of a text's tokens become one vector. */
enum {
  PRENORM_POOLING_AUTO = 0, /* as the model's files say; else the mean for encoders, the last token for decoders */
  PRENORM_POOLING_MEAN = 1,
  PRENORM_POOLING_CLS = 2, /* the first token */
  PRENORM_POOLING_LAST = 3
};
/* Whether vectors get length 1. */
enum {
  PRENORM_NORMALIZE_AUTO = 0, /* as the model's files say; else yes */
  PRENORM_NORMALIZE_YES = 1,
  PRENORM_NORMALIZE_NO = 2
};

typedef struct {
  uint32_t size;
  int32_t threads;       /* 0: as many as the process may use */
  int32_t pooling;       /* PRENORM_POOLING_... */
  int32_t normalize;     /* PRENORM_NORMALIZE_... */
  uint64_t max_tokens;   /* of a text; 0: what the model's files say */
  int32_t truncate;      /* 1: a longer text loses its end. 0: it is PRENORM_E_CONTEXT_FULL */
  int32_t parse_special; /* 1: markers in a text, such as [SEP], become control tokens */
} prenorm_encoder_options;
#define PRENORM_ENCODER_OPTIONS_INIT \
  { sizeof(prenorm_encoder_options), 0, PRENORM_POOLING_AUTO, PRENORM_NORMALIZE_AUTO, 0, 0, 0 }

typedef struct {
  uint32_t size;
  int32_t threads;
  uint64_t dim;        /* elements of a vector */
  uint64_t max_tokens; /* of a text */
  int32_t pooling;     /* PRENORM_POOLING_..., not AUTO */
  int32_t normalizes;
} prenorm_encoder_info;
#define PRENORM_ENCODER_INFO_INIT \
  { sizeof(prenorm_encoder_info), 0, 0, 0, 0, 0 }

/* For encoders (BERT), which have no sessions, and for decoders. The model may be freed before. Errors:
 * PRENORM_E_INVALID_ARGUMENT, also for an option out of range; PRENORM_E_UNSUPPORTED where the model's files ask for a
 * pooling that does not exist here and the options name none; PRENORM_E_OUT_OF_MEMORY. */
PRENORM_API prenorm_status prenorm_encoder_new(const prenorm_model* model, const prenorm_encoder_options* options,
                                               prenorm_encoder** encoder, prenorm_error* error);
/* As prenorm_session_free and prenorm_session_cancel. */
PRENORM_API void prenorm_encoder_free(prenorm_encoder* encoder);
PRENORM_API void prenorm_encoder_cancel(prenorm_encoder* encoder);
PRENORM_API prenorm_status prenorm_encoder_get_info(prenorm_encoder* encoder, prenorm_encoder_info* info,
                                                    prenorm_error* error);
/* vectors: [n_texts, dim], room for `capacity` elements. `n_bytes`: the length of each text, or null where each ends in
 * a zero byte. Texts of one call are computed together; the bits of a vector depend on its text alone. Errors:
 * PRENORM_E_INVALID_ARGUMENT for null and for a text that has no tokens; PRENORM_E_BUFFER_TOO_SMALL;
 * PRENORM_E_CONTEXT_FULL for a text that is too long, with its number; PRENORM_E_UNSUPPORTED for one on which a regular
 * expression of the model gives up; PRENORM_E_BAD_MODEL where a mapped file of the model was changed;
 * PRENORM_E_CANCELLED; PRENORM_E_OUT_OF_MEMORY; PRENORM_E_BUSY. After PRENORM_E_BAD_MODEL,
 * PRENORM_E_CANCELLED and PRENORM_E_OUT_OF_MEMORY `vectors` is unspecified. */
PRENORM_API prenorm_status prenorm_encoder_embed(prenorm_encoder* encoder, const char* const* texts,
                                                 const size_t* n_bytes, size_t n_texts, float* vectors, size_t capacity,
                                                 prenorm_error* error);

#ifdef __cplusplus
}
#endif

#endif /* PRENORM_PRENORM_H_ */
