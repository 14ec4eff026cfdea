/* The module of the C SDK for the conformance kit. */
#define BULKHEAD_IMPLEMENTATION
#include "bulkhead.h"

#include <stdio.h>
#include <string.h>

static bh_string argument(bh_json arguments, const char *name) { return bh_string_of(bh_member(arguments, name)); }

static void echo(bh_call *call, bh_json arguments) { bh_text(call, argument(arguments, "text")); }

static void fail(bh_call *call, bh_json arguments) { bh_fail(call, argument(arguments, "message")); }

static void error(bh_call *call, bh_json arguments) {
    int code = (int)bh_integer_of(bh_member(arguments, "code"), 0);
    bh_error(call, code, argument(arguments, "message"), bh_member(arguments, "data"));
}

static void progress(bh_call *call, bh_json arguments) {
    int steps = (int)bh_integer_of(bh_member(arguments, "steps"), 0);
    for (int step = 1; step <= steps; step++) {
        bh_progress(call, step, steps, bh_format("step %d", step));
    }
    bh_text(call, bh_str("done"));
}

static void write_log(bh_call *call, bh_json arguments) {
    bh_log((bh_level)bh_integer_of(bh_member(arguments, "level"), BH_INFO), "%s", argument(arguments, "text").at);
    bh_text(call, bh_str("done"));
}

static void print(bh_call *call, bh_json arguments) {
    printf("%s", argument(arguments, "text").at);
    bh_text(call, bh_str("done"));
}

static void read_file(bh_call *call, bh_json arguments) {
    FILE *file = fopen(argument(arguments, "path").at, "r");
    if (!file) {
        bh_fail(call, bh_str(strerror(errno)));
        return;
    }
    fseek(file, 0, SEEK_END);
    size_t size = (size_t)ftell(file);
    rewind(file);
    char *content = bh_alloc(size);
    bh_text(call, (bh_string){content, fread(content, 1, size, file)});
    fclose(file);
}

static void operate(bh_call *call, bh_json arguments) {
    bh_answer answer = bh_host(argument(arguments, "op").at, bh_member(arguments, "params"));
    if (answer.code.at) {
        bh_fail(call, answer.code);
    } else {
        bh_text(call, answer.result.length ? (bh_string){answer.result.at, answer.result.length} : bh_str("null"));
    }
}

static void count(bh_call *call, bh_json arguments) {
    static int calls;
    (void)arguments;
    bh_text(call, bh_format("%d", ++calls));
}

static void ask(bh_call *call, bh_json arguments) {
    bh_set_state(call, bh_str("asked"));
    bh_json schema = bh_json_str("{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"}}}");
    bh_json answer = bh_elicit(call, "name", argument(arguments, "message"), schema);
    if (!answer.length) {
        return;
    }
    bh_string action = argument(answer, "action");
    bool accepted = bh_equal(action, "accept");
    bh_text(call, bh_format("%s: %s", call->state.at, accepted ? argument(bh_member(answer, "content"), "name").at : action.at));
}

static void spin(bh_call *call, bh_json arguments) {
    (void)call, (void)arguments;
    for (volatile int i = 0;; i++) {
    }
}

static void crash(bh_call *call, bh_json arguments) {
    (void)call, (void)arguments;
    __builtin_trap();
}

static void list_prompts(bh_call *call, bh_json params) {
    (void)params;
    bh_prompt(call, "conform_prompt", "Says a text", bh_json_str("[{\"name\":\"text\",\"required\":true}]"));
}

static void get_prompt(bh_call *call, bh_json params) {
    if (!bh_equal(argument(params, "name"), "conform_prompt")) {
        bh_error(call, BH_INVALID_PARAMS, bh_str("there is no such prompt"), BH_ABSENT);
        return;
    }
    bh_message(call, "user", argument(bh_member(params, "arguments"), "text"));
}

static void list_resources(bh_call *call, bh_json params) {
    (void)params;
    bh_resource(call, bh_str("conform:text"), bh_str("text"), NULL, "text/plain");
    bh_resource(call, bh_str("conform:bytes"), bh_str("bytes"), NULL, NULL);
}

static void list_templates(bh_call *call, bh_json params) {
    (void)params;
    bh_template(call, "conform:{name}", "by name", NULL, NULL);
}

static void read_resource(bh_call *call, bh_json params) {
    bh_string uri = argument(params, "uri");
    if (bh_equal(uri, "conform:text")) {
        bh_contents(call, uri, "text/plain", bh_str("größer"));
    } else if (bh_equal(uri, "conform:bytes")) {
        bh_blob(call, uri, NULL, (bh_string){"\x00\x01\xfe\xff", 4});
    } else {
        bh_error(call, BH_RESOURCE_NOT_FOUND, bh_str("there is no such resource"), BH_ABSENT);
    }
}

static void complete(bh_call *call, bh_json params) {
    static const char *const values[] = {"alpha", "beta", "büro"};
    bh_string typed = argument(bh_member(params, "argument"), "value");
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        if (!strncmp(values[i], typed.at, typed.length)) {
            bh_value(call, bh_str(values[i]));
        }
    }
}

static const bh_tool tools[] = {
    {"echo", echo}, {"fail", fail},         {"error", error},     {"progress", progress}, {"log", write_log}, {"print", print},
    {"read_file", read_file}, {"operate", operate}, {"count", count}, {"ask", ask}, {"spin", spin},         {"crash", crash},   {0},
};

BH_PLUGIN(.tools = tools, .list_prompts = list_prompts, .get_prompt = get_prompt, .list_resources = list_resources,
          .list_templates = list_templates, .read_resource = read_resource, .complete = complete)
