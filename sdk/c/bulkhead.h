/* Plugins of the MCP host Bulkhead in C: this header is all of the SDK. It needs C11, clang and wasi-libc.
 *
 *     #define BULKHEAD_IMPLEMENTATION  // in exactly one file of the module
 *     #include "bulkhead.h"
 *
 *     static void greet(bh_call *call, bh_json arguments) {
 *         bh_string name = bh_string_of(bh_member(arguments, "name"));
 *         bh_text(call, bh_format("Hello, %s!", name.at));
 *     }
 *
 *     static const bh_tool tools[] = {{"greet", greet}, {0}};
 *     BH_PLUGIN(.tools = tools)
 *
 *     clang --target=wasm32-wasi -mexec-model=reactor -O2 greet.c -o greet.wasm
 *
 * Files, clocks, random numbers and the environment are those of the C library, as far as the host grants them. All memory that
 * functions of this header return belongs to the call: it is valid until the handler returns, and must not be freed. Do not keep
 * anything in a variable that a later call needs. A function that cannot get memory ends the call with a trap.
 */
#ifndef BULKHEAD_H
#define BULKHEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Strings. They are UTF-8, can contain NUL, and those that this header returns have a NUL behind them. */

typedef struct {
    const char *at; /* NULL: there is no string */
    size_t length;
} bh_string;

/* Returns the string of a C string; absent if that is NULL. */
bh_string bh_str(const char *text);
/* Returns a string that is formatted like printf. */
bh_string bh_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
bool bh_equal(bh_string a, const char *b);
/* Returns memory of the call. */
void *bh_alloc(size_t size);

/* Reading JSON. A bh_json is the text of a value; a length of 0 means that the value is absent, and each function accepts that. */

typedef struct {
    const char *at;
    size_t length;
} bh_json;

#define BH_ABSENT ((bh_json){NULL, 0})

/* Returns JSON that is written in C. */
bh_json bh_json_str(const char *json);
/* Returns the last member of an object with a name. */
bh_json bh_member(bh_json object, const char *name);
/* Iterates over an array or object: start with an absent bh_json, and end when the result is absent. name, which may be NULL,
 * is set to the name of a member. */
bh_json bh_next(bh_json container, bh_json previous, bh_string *name);
/* Returns a string without its escapes; absent if the value is no string. */
bh_string bh_string_of(bh_json value);
/* These return otherwise if the value has a different type, is absent, or is not an integer in the range of 64 bits. */
double bh_number_of(bh_json value, double otherwise);
int64_t bh_integer_of(bh_json value, int64_t otherwise);
bool bh_bool_of(bh_json value, bool otherwise);
/* Decodes a string of base64; absent if it is invalid. */
bh_string bh_base64_of(bh_json value);

/* Writing JSON. A zero writer is empty. Commas are written between values. */

typedef struct {
    char *at;
    size_t length, capacity;
    bool comma; /* the next value needs a comma before it */
} bh_writer;

void bh_open(bh_writer *w, char bracket);  /* { or [ */
void bh_close(bh_writer *w, char bracket); /* } or ] */
void bh_key(bh_writer *w, const char *name);
void bh_put_string(bh_writer *w, bh_string value); /* invalid UTF-8 becomes U+FFFD; an absent string is empty */
void bh_put_number(bh_writer *w, double value);    /* NaN and infinities become null */
void bh_put_integer(bh_writer *w, int64_t value);
void bh_put_bool(bh_writer *w, bool value);
void bh_put_json(bh_writer *w, bh_json value); /* an absent value becomes null */
void bh_put_base64(bh_writer *w, bh_string bytes);
bh_json bh_written(const bh_writer *w);

/* Calls. */

typedef struct bh_call {
    bh_json params;    /* the parameters of the request, as in MCP */
    bh_json meta;      /* _meta of the parameters */
    int64_t deadline;  /* when the host ends the call, in milliseconds since 1970; 0: never */
    bh_writer out;     /* the response; internal */
    bh_json structured, error;
    bool is_error;
    bh_json client;    /* what the client can be asked, as in docs/abi.md; absent: it cannot be asked */
    bh_string state;   /* the string of bh_set_state in the run before; absent in the first run */
    bh_json answers;   /* internal, as the following members */
    bh_writer questions;
    bh_string next_state;
    bool asking;
} bh_call;

/* Appends a text to the result of a tool. */
void bh_text(bh_call *call, bh_string text);
/* Appends an image or audio to the result of a tool; kind is "image" or "audio". */
void bh_media(bh_call *call, const char *kind, bh_string bytes, const char *mime_type);
/* Appends an item of MCP's content to the result of a tool. */
void bh_content(bh_call *call, bh_json item);
/* Sets the structured content of the result of a tool: a JSON object. If there is no other content, its text is added. */
void bh_structured(bh_call *call, bh_json object);
/* Appends a text to the result of a tool, and marks it as an error that the client's model can read. */
void bh_fail(bh_call *call, bh_string text);
/* Fails the request with a JSON-RPC error, also after parts of a result. data may be absent. */
void bh_error(bh_call *call, int code, bh_string message, bh_json data);

enum { BH_METHOD_NOT_FOUND = -32601, BH_INVALID_PARAMS = -32602, BH_INTERNAL = -32603, BH_RESOURCE_NOT_FOUND = -32002 };

/* Questions to the client. The manifest must name what is asked in ask of [capabilities].
 *
 * A question ends the run of the handler: until the client has answered, the answer is absent, and the handler must return. Then it
 * is run again from its start, and gets the answer. So a handler must ask the same questions under the same ids in each run, and what
 * it does before a question is repeated. A call has at most 10 rounds.
 *
 *     bh_json answer = bh_elicit(call, "name", bh_str("Who?"), schema);
 *     if (!answer.length) {
 *         return;
 *     }
 *     if (bh_equal(bh_string_of(bh_member(answer, "action")), "accept")) … bh_member(bh_member(answer, "content"), "name")
 *
 * An answer with the member error says that the client failed or refused. */

/* Asks with a method of MCP: elicitation/create, sampling/createMessage or roots/list. Several questions can be asked before the
 * handler returns. */
bh_json bh_ask(bh_call *call, const char *id, const char *method, bh_json params);
/* Asks the user to fill in a form, which must not ask for a secret. */
bh_json bh_elicit(bh_call *call, const char *id, bh_string message, bh_json schema);
/* Asks the user to open a URL. */
bh_json bh_open_url(bh_call *call, const char *id, bh_string message, bh_string url);
/* Keeps a string for the next run of the handler. It has an effect only if this run asks. */
void bh_set_state(bh_call *call, bh_string state);

/* Lists; arguments after the name can be NULL or absent. */
void bh_prompt(bh_call *call, const char *name, const char *description, bh_json arguments); /* an array of name, description, required */
void bh_resource(bh_call *call, bh_string uri, bh_string name, const char *description, const char *mime_type);
void bh_template(bh_call *call, const char *uri_template, const char *name, const char *description, const char *mime_type);
/* Appends a message to a prompt; role is "user" or "assistant". */
void bh_message(bh_call *call, const char *role, bh_string text);
/* Appends the content of a resource: text, or bytes that are encoded. */
void bh_contents(bh_call *call, bh_string uri, const char *mime_type, bh_string text);
void bh_blob(bh_call *call, bh_string uri, const char *mime_type, bh_string bytes);
/* Appends a value to a completion; at most 100. */
void bh_value(bh_call *call, bh_string value);

typedef void bh_handler(bh_call *call, bh_json params);

/* The handler of a tool gets the tool's arguments; absent ones are an empty object. */
typedef struct {
    const char *name;
    bh_handler *handle;
} bh_tool;

/* The handlers of a plugin. An absent one is NULL; templates can be NULL even if there are resources. They get the parameters of
 * the request: name and arguments of get_prompt, uri of read_resource, ref and argument of complete. */
typedef struct {
    const bh_tool *tools; /* ends with {0} */
    bh_handler *list_prompts, *get_prompt;
    bh_handler *list_resources, *list_templates, *read_resource;
    bh_handler *complete;
} bh_plugin;

extern const bh_plugin bh_served;
#define BH_PLUGIN(...) const bh_plugin bh_served = {__VA_ARGS__};

/* The host's log, which its operator reads. */

typedef enum { BH_TRACE = 1, BH_DEBUG, BH_INFO, BH_WARN, BH_ERROR } bh_level;
void bh_log(bh_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Host operations. */

typedef struct {
    bh_string code; /* absent: there is no error; else "denied", "invalid", "unavailable" or "failed" */
    bh_string message, reason;
    bh_json result;
    bh_string raw; /* the answer, which is binary for fs/scan */
} bh_answer;

/* Performs an operation of docs/abi.md with its parameters. */
bh_answer bh_host(const char *op, bh_json params);
/* Performs hash/sha256, which takes bytes. */
bh_answer bh_host_with_bytes(const char *op, bh_json params, bh_string bytes);
/* Notifies the client of progress; total may be 0 and message absent. It does nothing if the client did not ask for progress. */
bh_answer bh_progress(bh_call *call, double done, double total, bh_string message);
/* Sends a notification, such as notifications/resources/updated. */
bh_answer bh_notify(const char *method, bh_json params);
/* Acquires a lock until the call ends; folder may be NULL. */
bh_answer bh_lock(const char *name, const char *folder);
/* Sends a GET request. A status of 0 means that there is no response: see the answer. */
typedef struct {
    bh_answer answer;
    int status;
    bh_string body;
} bh_response;
bh_response bh_http_get(const char *url);

/* Derived data: the module exports a function that computes data from the content of a file. */
typedef bh_string bh_derive(uint32_t function, bh_string content);
bh_string bh_read_input(size_t length);
void bh_write_output(bh_string bytes);
#define BH_DERIVE(derive)                                                                                                           \
    __attribute__((export_name("bulkhead_derive"))) void bulkhead_derive(uint32_t function, size_t length) {                      \
        bh_write_output(derive(function, bh_read_input(length)));                                                                  \
    }

/* Handles a request. Modules need not call it; a native test does, and defines the five imports below. */
bh_string bh_dispatch(bh_string request);

#endif

#ifdef BULKHEAD_IMPLEMENTATION
#ifndef BULKHEAD_IMPLEMENTED
#define BULKHEAD_IMPLEMENTED

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __wasm__
#define BH_IMPORT(name) __attribute__((import_module("bulkhead"), import_name(name)))
#define BH_EXPORT(name) __attribute__((export_name(name)))
#else
#define BH_IMPORT(name)
#define BH_EXPORT(name)
#endif

BH_IMPORT("input") void bh_import_input(char *destination, size_t length);
BH_IMPORT("output") void bh_import_output(const char *source, size_t length);
BH_IMPORT("host_call") size_t bh_import_host_call(const char *source, size_t length);
BH_IMPORT("host_result") void bh_import_host_result(char *destination, size_t length);
BH_IMPORT("log") void bh_import_log(int level, const char *source, size_t length);

/* Memory: blocks that are freed when the next call begins. */

typedef struct bh_block {
    struct bh_block *next;
} bh_block;
static bh_block *bh_blocks;

void *bh_alloc(size_t size) {
    bh_block *block = size <= SIZE_MAX - 16 ? malloc(16 + size) : NULL; /* 16 keeps the alignment */
    if (!block) {
        __builtin_trap();
    }
    block->next = bh_blocks;
    bh_blocks = block;
    return (char *)block + 16;
}

static void bh_free_all(void) {
    while (bh_blocks) {
        bh_block *next = bh_blocks->next;
        free(bh_blocks);
        bh_blocks = next;
    }
}

static bh_string bh_copy(const char *at, size_t length) {
    char *copy = bh_alloc(length + 1);
    if (length) {
        memcpy(copy, at, length);
    }
    copy[length] = 0;
    return (bh_string){copy, length};
}

bh_string bh_str(const char *text) { return (bh_string){text, text ? strlen(text) : 0}; }

bool bh_equal(bh_string a, const char *b) { return a.at && a.length == strlen(b) && !memcmp(a.at, b, a.length); }

static bh_string bh_vformat(const char *format, va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (length < 0) {
        return bh_str("");
    }
    char *text = bh_alloc((size_t)length + 1);
    vsnprintf(text, (size_t)length + 1, format, arguments);
    return (bh_string){text, (size_t)length};
}

bh_string bh_format(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    bh_string text = bh_vformat(format, arguments);
    va_end(arguments);
    return text;
}

/* Reading JSON. The host sends valid JSON; anything else is read without leaving its bounds. */

typedef struct {
    const char *at, *end;
} bh_cursor;

static void bh_skip_space(bh_cursor *c) {
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\t' || *c->at == '\n' || *c->at == '\r')) {
        c->at++;
    }
}

static void bh_skip_string(bh_cursor *c) {
    c->at++;
    while (c->at < c->end && *c->at != '"') {
        c->at += *c->at == '\\' && c->end - c->at > 1 ? 2 : 1;
    }
    if (c->at < c->end) {
        c->at++;
    }
}

/* Returns the value at the cursor, and moves the cursor behind it. */
static bh_json bh_take(bh_cursor *c) {
    bh_skip_space(c);
    const char *start = c->at;
    size_t depth = 0;
    while (c->at < c->end) {
        char b = *c->at;
        if (b == '"') {
            bh_skip_string(c);
        } else if (b == '{' || b == '[') {
            depth++;
            c->at++;
        } else if (b == '}' || b == ']') {
            if (depth == 0) {
                break;
            }
            depth--;
            c->at++;
        } else if (depth == 0) { /* a number, true, false or null */
            while (c->at < c->end && !strchr(",:]} \t\r\n", *c->at)) {
                c->at++;
            }
            break;
        } else {
            c->at++;
        }
        if (depth == 0) {
            break;
        }
    }
    return (bh_json){start, (size_t)(c->at - start)};
}

bh_json bh_json_str(const char *json) { return bh_take(&(bh_cursor){json, json + strlen(json)}); }

static bh_json bh_next_raw(bh_json container, bh_json previous, bh_json *key) {
    bh_cursor c = {container.at, container.at + container.length};
    bh_skip_space(&c);
    if (c.at >= c.end || (*c.at != '{' && *c.at != '[')) {
        return BH_ABSENT;
    }
    bool object = *c.at == '{';
    c.at++;
    if (previous.length) {
        c.at = previous.at + previous.length;
        bh_skip_space(&c);
        if (c.at >= c.end || *c.at != ',') {
            return BH_ABSENT;
        }
        c.at++;
    }
    if (object) {
        *key = bh_take(&c);
        bh_skip_space(&c);
        if (c.at >= c.end || *c.at != ':') {
            return BH_ABSENT;
        }
        c.at++;
    }
    return bh_take(&c);
}

bh_json bh_next(bh_json container, bh_json previous, bh_string *name) {
    bh_json key = {0}, value = bh_next_raw(container, previous, &key);
    if (name) {
        *name = bh_string_of(key);
    }
    return value;
}

/* Tells whether a key is a name, without a copy unless it has escapes. */
static bool bh_is_key(bh_json key, const char *name) {
    if (key.length < 2 || memchr(key.at, '\\', key.length)) {
        return bh_equal(bh_string_of(key), name);
    }
    return bh_equal((bh_string){key.at + 1, key.length - 2}, name);
}

bh_json bh_member(bh_json object, const char *name) {
    bh_json found = {0}, key = {0};
    if (!object.length || *object.at != '{') {
        return found;
    }
    for (bh_json value = bh_next_raw(object, found, &key); value.length; value = bh_next_raw(object, value, &key)) {
        if (bh_is_key(key, name)) {
            found = value;
        }
    }
    return found;
}

static char *bh_encode_rune(char *to, uint32_t rune) {
    if (rune < 0x80) {
        *to++ = (char)rune;
    } else if (rune < 0x800) {
        *to++ = (char)(0xc0 | rune >> 6);
        *to++ = (char)(0x80 | (rune & 63));
    } else if (rune < 0x10000) {
        *to++ = (char)(0xe0 | rune >> 12);
        *to++ = (char)(0x80 | (rune >> 6 & 63));
        *to++ = (char)(0x80 | (rune & 63));
    } else {
        *to++ = (char)(0xf0 | rune >> 18);
        *to++ = (char)(0x80 | (rune >> 12 & 63));
        *to++ = (char)(0x80 | (rune >> 6 & 63));
        *to++ = (char)(0x80 | (rune & 63));
    }
    return to;
}

/* Reads four hexadecimal digits; 0xfffd if there are none. */
static uint32_t bh_hex(const char *at, const char *end) {
    uint32_t value = 0;
    if (end - at < 4) {
        return 0xfffd;
    }
    for (int i = 0; i < 4; i++) {
        char b = at[i];
        int digit = b >= '0' && b <= '9' ? b - '0' : (b | 32) >= 'a' && (b | 32) <= 'f' ? (b | 32) - 'a' + 10 : -1;
        if (digit < 0) {
            return 0xfffd;
        }
        value = value << 4 | (uint32_t)digit;
    }
    return value;
}

bh_string bh_string_of(bh_json value) {
    if (value.length < 2 || *value.at != '"' || value.at[value.length - 1] != '"') {
        return (bh_string){0};
    }
    const char *at = value.at + 1, *end = value.at + value.length - 1;
    if (!memchr(at, '\\', (size_t)(end - at))) {
        return bh_copy(at, (size_t)(end - at));
    }
    /* An escape is never shorter than what it stands for, except an incomplete one at the end, which becomes U+FFFD. */
    char *text = bh_alloc((size_t)(end - at) + 3), *to = text;
    while (at < end) {
        if (*at != '\\' || end - at < 2) {
            *to++ = *at++;
            continue;
        }
        char escape = at[1];
        at += 2;
        switch (escape) {
        case 'b': *to++ = '\b'; break;
        case 'f': *to++ = '\f'; break;
        case 'n': *to++ = '\n'; break;
        case 'r': *to++ = '\r'; break;
        case 't': *to++ = '\t'; break;
        case 'u': {
            uint32_t rune = bh_hex(at, end);
            at += end - at < 4 ? end - at : 4;
            if (rune >= 0xd800 && rune < 0xdc00 && end - at >= 6 && at[0] == '\\' && at[1] == 'u') {
                uint32_t low = bh_hex(at + 2, end);
                if (low >= 0xdc00 && low < 0xe000) {
                    rune = 0x10000 + ((rune - 0xd800) << 10 | (low - 0xdc00));
                    at += 6;
                }
            }
            to = bh_encode_rune(to, rune >= 0xd800 && rune < 0xe000 ? 0xfffd : rune);
            break;
        }
        default: *to++ = escape; /* a quotation mark or a slash */
        }
    }
    *to = 0;
    return (bh_string){text, (size_t)(to - text)};
}

static bool bh_is_number(bh_json value) { return value.length && (*value.at == '-' || (*value.at >= '0' && *value.at <= '9')); }

double bh_number_of(bh_json value, double otherwise) {
    return bh_is_number(value) ? strtod(bh_copy(value.at, value.length).at, NULL) : otherwise;
}

int64_t bh_integer_of(bh_json value, int64_t otherwise) {
    if (!bh_is_number(value)) {
        return otherwise;
    }
    bh_string text = bh_copy(value.at, value.length);
    char *end;
    errno = 0;
    long long integer = strtoll(text.at, &end, 10);
    if (!*end) {
        return errno ? otherwise : integer;
    }
    double number = strtod(text.at, NULL); /* 1e3 and 2.0 are integers, too */
    return number == trunc(number) && fabs(number) < 0x1p63 ? (int64_t)number : otherwise;
}

bool bh_bool_of(bh_json value, bool otherwise) {
    if (value.length == 4 && !memcmp(value.at, "true", 4)) {
        return true;
    }
    return value.length == 5 && !memcmp(value.at, "false", 5) ? false : otherwise;
}

static const char bh_digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

bh_string bh_base64_of(bh_json value) {
    bh_string text = bh_string_of(value);
    if (!text.at || text.length % 4) {
        return (bh_string){0};
    }
    char *bytes = bh_alloc(text.length / 4 * 3 + 1), *to = bytes;
    for (size_t i = 0; i < text.length; i += 4) {
        size_t padding = i + 4 < text.length || text.at[i + 3] != '=' ? 0 : text.at[i + 2] != '=' ? 1 : 2;
        uint32_t bits = 0;
        for (size_t j = 0; j < 4; j++) {
            char b = text.at[i + j];
            const char *digit = b ? strchr(bh_digits, b) : NULL;
            if (!digit && j < 4 - padding) {
                return (bh_string){0};
            }
            bits = bits << 6 | (j < 4 - padding ? (uint32_t)(digit - bh_digits) : 0);
        }
        for (size_t j = 0; j < 3 - padding; j++) {
            *to++ = (char)(bits >> (16 - 8 * j));
        }
    }
    *to = 0;
    return (bh_string){bytes, (size_t)(to - bytes)};
}

/* Writing JSON. */

static void bh_append(bh_writer *w, const char *at, size_t length) {
    if (w->capacity - w->length <= length) { /* one byte stays free for a NUL */
        size_t capacity = w->length + length + w->length / 2 + 128;
        char *larger = bh_alloc(capacity);
        if (w->length) {
            memcpy(larger, w->at, w->length);
        }
        w->at = larger;
        w->capacity = capacity;
    }
    if (length) {
        memcpy(w->at + w->length, at, length);
    }
    w->length += length;
    w->at[w->length] = 0;
}

static void bh_raw(bh_writer *w, const char *text) { bh_append(w, text, strlen(text)); }

static void bh_comma(bh_writer *w) {
    if (w->comma) {
        bh_append(w, ",", 1);
    }
    w->comma = true;
}

void bh_open(bh_writer *w, char bracket) {
    bh_comma(w);
    bh_append(w, &bracket, 1);
    w->comma = false;
}

void bh_close(bh_writer *w, char bracket) {
    bh_append(w, &bracket, 1);
    w->comma = true;
}

void bh_key(bh_writer *w, const char *name) {
    bh_put_string(w, bh_str(name));
    bh_append(w, ":", 1);
    w->comma = false;
}

/* Returns the length of the UTF-8 sequence at a byte that is not ASCII; 0 if it is invalid. */
static size_t bh_sequence(const unsigned char *at, size_t left) {
    size_t length = at[0] >= 0xc2 && at[0] < 0xe0 ? 2 : at[0] >= 0xe0 && at[0] < 0xf0 ? 3 : at[0] >= 0xf0 && at[0] < 0xf5 ? 4 : 0;
    if (!length || length > left) {
        return 0;
    }
    for (size_t i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    bool overlong = (at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xf0 && at[1] < 0x90);
    bool outside = (at[0] == 0xed && at[1] >= 0xa0) || (at[0] == 0xf4 && at[1] >= 0x90);
    return overlong || outside ? 0 : length;
}

void bh_put_string(bh_writer *w, bh_string value) {
    const unsigned char *at = (const unsigned char *)value.at, *end = at + value.length, *plain = at;
    bh_comma(w);
    bh_append(w, "\"", 1);
    while (at < end) {
        if (*at >= ' ' && *at < 0x80 && *at != '"' && *at != '\\') {
            at++;
            continue;
        }
        size_t sequence = *at >= 0x80 ? bh_sequence(at, (size_t)(end - at)) : 0;
        if (sequence) {
            at += sequence;
            continue;
        }
        bh_append(w, (const char *)plain, (size_t)(at - plain));
        if (*at >= 0x80) {
            bh_raw(w, "\xef\xbf\xbd");
        } else if (*at == '"' || *at == '\\') {
            char escape[2] = {'\\', (char)*at};
            bh_append(w, escape, 2);
        } else {
            char escape[6] = {'\\', 'u', '0', '0', (char)('0' + (*at >> 4)), "0123456789abcdef"[*at & 15]};
            bh_append(w, escape, 6);
        }
        plain = ++at;
    }
    bh_append(w, (const char *)plain, (size_t)(at - plain));
    bh_append(w, "\"", 1);
}

void bh_put_number(bh_writer *w, double value) {
    bh_comma(w);
    bh_raw(w, isfinite(value) ? bh_format("%.17g", value).at : "null");
}

void bh_put_integer(bh_writer *w, int64_t value) {
    bh_comma(w);
    bh_raw(w, bh_format("%lld", (long long)value).at);
}

void bh_put_bool(bh_writer *w, bool value) {
    bh_comma(w);
    bh_raw(w, value ? "true" : "false");
}

void bh_put_json(bh_writer *w, bh_json value) {
    bh_comma(w);
    if (value.length) {
        bh_append(w, value.at, value.length);
    } else {
        bh_raw(w, "null");
    }
}

void bh_put_base64(bh_writer *w, bh_string bytes) {
    bh_comma(w);
    bh_append(w, "\"", 1);
    for (size_t i = 0; i < bytes.length; i += 3) {
        unsigned char group[3] = {0};
        size_t length = bytes.length - i < 3 ? bytes.length - i : 3;
        memcpy(group, bytes.at + i, length);
        uint32_t bits = (uint32_t)group[0] << 16 | (uint32_t)group[1] << 8 | group[2];
        char digits[4];
        for (size_t j = 0; j < 4; j++) {
            digits[j] = j <= length ? bh_digits[bits >> (18 - 6 * j) & 63] : '=';
        }
        bh_append(w, digits, 4);
    }
    bh_append(w, "\"", 1);
}

bh_json bh_written(const bh_writer *w) { return (bh_json){w->at, w->length}; }

static void bh_put_member(bh_writer *w, const char *name, bh_string value) {
    if (value.at) {
        bh_key(w, name);
        bh_put_string(w, value);
    }
}

/* Results. Each function appends an item to the only list of a result. */

static void bh_text_item(bh_writer *w, bh_string text) {
    bh_open(w, '{');
    bh_put_member(w, "type", bh_str("text"));
    bh_key(w, "text");
    bh_put_string(w, text);
    bh_close(w, '}');
}

void bh_text(bh_call *call, bh_string text) { bh_text_item(&call->out, text); }

void bh_media(bh_call *call, const char *kind, bh_string bytes, const char *mime_type) {
    bh_open(&call->out, '{');
    bh_put_member(&call->out, "type", bh_str(kind));
    bh_key(&call->out, "data");
    bh_put_base64(&call->out, bytes);
    bh_put_member(&call->out, "mimeType", bh_str(mime_type));
    bh_close(&call->out, '}');
}

void bh_content(bh_call *call, bh_json item) { bh_put_json(&call->out, item); }

void bh_structured(bh_call *call, bh_json object) { call->structured = object; }

void bh_fail(bh_call *call, bh_string text) {
    bh_text(call, text);
    call->is_error = true;
}

void bh_error(bh_call *call, int code, bh_string message, bh_json data) {
    bh_writer w = {0};
    bh_open(&w, '{');
    bh_key(&w, "code");
    bh_put_integer(&w, code);
    bh_key(&w, "message");
    bh_put_string(&w, message);
    if (data.length) {
        bh_key(&w, "data");
        bh_put_json(&w, data);
    }
    bh_close(&w, '}');
    call->error = bh_written(&w);
}

void bh_prompt(bh_call *call, const char *name, const char *description, bh_json arguments) {
    bh_open(&call->out, '{');
    bh_put_member(&call->out, "name", bh_str(name));
    bh_put_member(&call->out, "description", bh_str(description));
    if (arguments.length) {
        bh_key(&call->out, "arguments");
        bh_put_json(&call->out, arguments);
    }
    bh_close(&call->out, '}');
}

void bh_resource(bh_call *call, bh_string uri, bh_string name, const char *description, const char *mime_type) {
    bh_open(&call->out, '{');
    bh_put_member(&call->out, "uri", uri);
    bh_put_member(&call->out, "name", name);
    bh_put_member(&call->out, "description", bh_str(description));
    bh_put_member(&call->out, "mimeType", bh_str(mime_type));
    bh_close(&call->out, '}');
}

void bh_template(bh_call *call, const char *uri_template, const char *name, const char *description, const char *mime_type) {
    bh_open(&call->out, '{');
    bh_put_member(&call->out, "uriTemplate", bh_str(uri_template));
    bh_put_member(&call->out, "name", bh_str(name));
    bh_put_member(&call->out, "description", bh_str(description));
    bh_put_member(&call->out, "mimeType", bh_str(mime_type));
    bh_close(&call->out, '}');
}

void bh_message(bh_call *call, const char *role, bh_string text) {
    bh_open(&call->out, '{');
    bh_put_member(&call->out, "role", bh_str(role));
    bh_key(&call->out, "content");
    bh_text_item(&call->out, text);
    bh_close(&call->out, '}');
}

static void bh_contents_start(bh_call *call, bh_string uri, const char *mime_type, const char *key) {
    bh_open(&call->out, '{');
    bh_put_member(&call->out, "uri", uri);
    bh_put_member(&call->out, "mimeType", bh_str(mime_type));
    bh_key(&call->out, key);
}

void bh_contents(bh_call *call, bh_string uri, const char *mime_type, bh_string text) {
    bh_contents_start(call, uri, mime_type, "text");
    bh_put_string(&call->out, text);
    bh_close(&call->out, '}');
}

void bh_blob(bh_call *call, bh_string uri, const char *mime_type, bh_string bytes) {
    bh_contents_start(call, uri, mime_type, "blob");
    bh_put_base64(&call->out, bytes);
    bh_close(&call->out, '}');
}

void bh_value(bh_call *call, bh_string value) { bh_put_string(&call->out, value); }

/* Questions. */

bh_json bh_ask(bh_call *call, const char *id, const char *method, bh_json params) {
    if (!call->client.length) {
        const char *why = "the client cannot be asked: the manifest has no ask in [capabilities], or the config does not grant it";
        bh_error(call, BH_INTERNAL, bh_str(why), BH_ABSENT);
        return BH_ABSENT;
    }
    bh_json answer = bh_member(call->answers, id);
    if (!answer.length) {
        call->asking = true;
        bh_key(&call->questions, id);
        bh_open(&call->questions, '{');
        bh_put_member(&call->questions, "method", bh_str(method));
        bh_key(&call->questions, "params");
        bh_put_json(&call->questions, params.length ? params : bh_json_str("{}"));
        bh_close(&call->questions, '}');
    }
    return answer;
}

bh_json bh_elicit(bh_call *call, const char *id, bh_string message, bh_json schema) {
    bh_writer w = {0};
    bh_open(&w, '{');
    bh_put_member(&w, "mode", bh_str("form"));
    bh_put_member(&w, "message", message);
    bh_key(&w, "requestedSchema");
    bh_put_json(&w, schema);
    bh_close(&w, '}');
    return bh_ask(call, id, "elicitation/create", bh_written(&w));
}

bh_json bh_open_url(bh_call *call, const char *id, bh_string message, bh_string url) {
    bh_writer w = {0};
    bh_open(&w, '{');
    bh_put_member(&w, "mode", bh_str("url"));
    bh_put_member(&w, "message", message);
    bh_put_member(&w, "url", url);
    bh_close(&w, '}');
    return bh_ask(call, id, "elicitation/create", bh_written(&w));
}

void bh_set_state(bh_call *call, bh_string state) { call->next_state = state; }

/* Returns the response of a call that asks. */
static bh_string bh_asked(const bh_call *call) {
    bh_writer w = {0};
    bh_raw(&w, "{\"ask\":{\"requests\":{");
    bh_append(&w, call->questions.at, call->questions.length);
    bh_raw(&w, "}");
    if (call->next_state.at) {
        bh_raw(&w, ",\"state\":");
        w.comma = false;
        bh_put_string(&w, call->next_state);
    }
    bh_raw(&w, "}}");
    return (bh_string){w.at, w.length};
}

/* Requests. */

static void bh_no_templates(bh_call *call, bh_json params) { (void)call, (void)params; }

static void bh_call_tool(bh_call *call, bh_json params) {
    bh_string name = bh_string_of(bh_member(params, "name"));
    bh_json arguments = bh_member(params, "arguments");
    for (const bh_tool *tool = bh_served.tools; tool && tool->name; tool++) {
        if (bh_equal(name, tool->name)) {
            tool->handle(call, arguments.length ? arguments : bh_json_str("{}"));
            if (call->structured.length && call->out.at[call->out.length - 1] == '[') {
                bh_text(call, bh_copy(call->structured.at, call->structured.length));
            }
            return;
        }
    }
    bh_error(call, BH_INVALID_PARAMS, bh_format("no handler for tool %s", name.at ? name.at : "without a name"), BH_ABSENT);
}

static bh_string bh_describe(void) {
    bh_writer w = {0};
    bh_raw(&w, "{\"result\":{\"tools\":[");
    for (const bh_tool *tool = bh_served.tools; tool && tool->name; tool++) {
        bh_put_string(&w, bh_str(tool->name));
    }
    bh_raw(&w, "],\"prompts\":");
    bh_raw(&w, bh_served.list_prompts ? "true" : "false");
    bh_raw(&w, ",\"resources\":");
    bh_raw(&w, bh_served.list_resources ? "true" : "false");
    bh_raw(&w, ",\"completions\":");
    bh_raw(&w, bh_served.complete ? "true}}" : "false}}");
    return (bh_string){w.at, w.length};
}

bh_string bh_dispatch(bh_string request) {
    const struct {
        const char *method, *start, *end;
        bh_handler *handle;
    } methods[] = {
        {"tools/call", "{\"result\":{\"content\":[", "]", bh_call_tool},
        {"prompts/list", "{\"result\":{\"prompts\":[", "]", bh_served.list_prompts},
        {"prompts/get", "{\"result\":{\"messages\":[", "]", bh_served.get_prompt},
        {"resources/list", "{\"result\":{\"resources\":[", "]", bh_served.list_resources},
        {"resources/templates/list", "{\"result\":{\"resourceTemplates\":[", "]",
         bh_served.list_templates || !bh_served.list_resources ? bh_served.list_templates : bh_no_templates},
        {"resources/read", "{\"result\":{\"contents\":[", "]", bh_served.read_resource},
        {"completion/complete", "{\"result\":{\"completion\":{\"values\":[", "]}", bh_served.complete},
    };
    bh_json root = {request.at, request.length};
    bh_string method = bh_string_of(bh_member(root, "method"));
    bh_call call = {.params = bh_member(root, "params"), .deadline = bh_integer_of(bh_member(root, "deadline"), 0)};
    call.meta = bh_member(call.params, "_meta");
    call.client = bh_member(root, "client");
    call.answers = bh_member(root, "answers");
    call.state = bh_string_of(bh_member(root, "state"));
    if (bh_equal(method, "bulkhead/describe")) {
        return bh_describe();
    }
    const char *end = NULL;
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        if (bh_equal(method, methods[i].method) && methods[i].handle) {
            bh_raw(&call.out, methods[i].start);
            methods[i].handle(&call, call.params);
            end = methods[i].end;
        }
    }
    if (!end) {
        const char *name = method.at ? method.at : "a request without a method";
        bh_error(&call, BH_METHOD_NOT_FOUND, bh_format("no handler for %s", name), BH_ABSENT);
    }
    if (call.error.length) {
        bh_writer w = {0};
        bh_raw(&w, "{\"error\":");
        bh_append(&w, call.error.at, call.error.length);
        bh_raw(&w, "}");
        return (bh_string){w.at, w.length};
    }
    if (call.asking) {
        return bh_asked(&call);
    }
    bh_raw(&call.out, end);
    if (call.structured.length) {
        bh_raw(&call.out, ",\"structuredContent\":");
        bh_append(&call.out, call.structured.at, call.structured.length);
    }
    bh_raw(&call.out, call.is_error ? ",\"isError\":true}}" : "}}");
    return (bh_string){call.out.at, call.out.length};
}

bh_string bh_read_input(size_t length) {
    bh_free_all();
    char *bytes = bh_alloc(length + 1);
    bh_import_input(bytes, length);
    bytes[length] = 0;
    return (bh_string){bytes, length};
}

void bh_write_output(bh_string bytes) { bh_import_output(bytes.at, bytes.length); }

BH_EXPORT("bulkhead_abi_1") void bulkhead_abi_1(void) {}

BH_EXPORT("bulkhead_call") void bulkhead_call(size_t length) {
    bh_write_output(bh_dispatch(bh_read_input(length)));
    fflush(stdout);
}

#ifdef __wasm__
/* WASI has no working directory, so wasi-libc starts in /. If PWD is not granted, relative paths fail later. */
__attribute__((constructor)) static void bh_enter_directory(void) {
    const char *directory = getenv("PWD");
    if (directory) {
        chdir(directory);
    }
}
#endif

/* Host operations. */

void bh_log(bh_level level, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    bh_string line = bh_vformat(format, arguments);
    va_end(arguments);
    bh_import_log((int)level, line.at, line.length);
}

bh_answer bh_host_with_bytes(const char *op, bh_json params, bh_string bytes) {
    bh_writer w = {0};
    bh_open(&w, '{');
    bh_put_member(&w, "op", bh_str(op));
    bh_key(&w, "params");
    bh_put_json(&w, params);
    bh_close(&w, '}');
    if (bytes.at) {
        bh_append(&w, "", 1); /* a NUL separates them */
        bh_append(&w, bytes.at, bytes.length);
    }
    size_t length = bh_import_host_call(w.at, w.length);
    char *raw = bh_alloc(length + 1);
    bh_import_host_result(raw, length);
    raw[length] = 0;
    bh_json root = {raw, length}, error = bh_member(root, "error");
    bh_answer answer = {.raw = {raw, length}, .result = bh_member(root, "result")};
    answer.code = bh_string_of(bh_member(error, "code"));
    answer.message = bh_string_of(bh_member(error, "message"));
    answer.reason = bh_string_of(bh_member(error, "reason"));
    return answer;
}

bh_answer bh_host(const char *op, bh_json params) { return bh_host_with_bytes(op, params, (bh_string){0}); }

bh_answer bh_notify(const char *method, bh_json params) {
    bh_writer w = {0};
    bh_open(&w, '{');
    bh_put_member(&w, "method", bh_str(method));
    bh_key(&w, "params");
    bh_put_json(&w, params.length ? params : bh_json_str("{}"));
    bh_close(&w, '}');
    return bh_host("notify", bh_written(&w));
}

bh_answer bh_progress(bh_call *call, double done, double total, bh_string message) {
    bh_json token = bh_member(call->meta, "progressToken");
    if (!token.length) {
        return (bh_answer){0};
    }
    bh_writer w = {0};
    bh_open(&w, '{');
    bh_key(&w, "progressToken");
    bh_put_json(&w, token);
    bh_key(&w, "progress");
    bh_put_number(&w, done);
    if (total != 0) {
        bh_key(&w, "total");
        bh_put_number(&w, total);
    }
    bh_put_member(&w, "message", message);
    bh_close(&w, '}');
    return bh_notify("notifications/progress", bh_written(&w));
}

bh_answer bh_lock(const char *name, const char *folder) {
    bh_writer w = {0};
    bh_open(&w, '{');
    bh_put_member(&w, "name", bh_str(name));
    bh_put_member(&w, "folder", bh_str(folder));
    bh_close(&w, '}');
    return bh_host("lock", bh_written(&w));
}

bh_response bh_http_get(const char *url) {
    bh_writer w = {0};
    bh_open(&w, '{');
    bh_put_member(&w, "url", bh_str(url));
    bh_close(&w, '}');
    bh_response response = {.answer = bh_host("http/fetch", bh_written(&w))};
    response.status = (int)bh_integer_of(bh_member(response.answer.result, "status"), 0);
    response.body = bh_base64_of(bh_member(response.answer.result, "body"));
    return response;
}

#endif
#endif
