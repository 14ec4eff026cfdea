/* Counts lines and words of text files. Each kind of handler of a plugin is here once. */
#define BULKHEAD_IMPLEMENTATION
#include "bulkhead.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads a file of the project; absent, with errno set, if it cannot be read. */
static bh_string read_file(bh_string path) {
    const char *project = getenv("BULKHEAD_PROJECT");
    FILE *file = fopen(bh_format("%s/%s", project ? project : "", path.at).at, "r");
    if (!file) {
        return (bh_string){0};
    }
    size_t size = 0, capacity = 64 << 10, n;
    char *text = bh_alloc(capacity + 1);
    while ((n = fread(text + size, 1, capacity - size, file)) > 0) {
        size += n;
        if (size == capacity) {
            char *larger = bh_alloc(2 * capacity + 1);
            memcpy(larger, text, size);
            text = larger;
            capacity *= 2;
        }
    }
    bool failed = ferror(file);
    fclose(file);
    text[size] = 0;
    return failed ? (bh_string){0} : (bh_string){text, size};
}

static bool is_space(char b) { return b == ' ' || (b >= '\t' && b <= '\r'); }

static int64_t count_words(bh_string text) {
    int64_t words = 0;
    for (size_t i = 0; i < text.length; i++) {
        words += !is_space(text.at[i]) && (i == 0 || is_space(text.at[i - 1]));
    }
    return words;
}

static int64_t count_lines(bh_string text) {
    int64_t lines = text.length > 0 && text.at[text.length - 1] != '\n';
    for (size_t i = 0; i < text.length; i++) {
        lines += text.at[i] == '\n';
    }
    return lines;
}

/* The host has validated the arguments against the schema in plugin.toml. */
static void count(bh_call *call, bh_json arguments) {
    bh_json paths = bh_member(arguments, "paths");
    int total = 0, done = 0;
    for (bh_json path = bh_next(paths, BH_ABSENT, NULL); path.length; path = bh_next(paths, path, NULL)) {
        total++;
    }
    bh_writer w = {0};
    bh_open(&w, '{');
    bh_key(&w, "files");
    bh_open(&w, '[');
    for (bh_json item = bh_next(paths, BH_ABSENT, NULL); item.length; item = bh_next(paths, item, NULL)) {
        bh_string path = bh_string_of(item), text = read_file(path);
        if (!text.at) { /* the model can read this, and call the tool again with the name of another file */
            bh_fail(call, bh_format("%s: %s", path.at, strerror(errno)));
            return;
        }
        bh_answer digest = bh_host_with_bytes("hash/sha256", bh_json_str("{}"), text);
        if (digest.code.at) {
            bh_fail(call, digest.message);
            return;
        }
        bh_open(&w, '{');
        bh_key(&w, "path");
        bh_put_string(&w, path);
        bh_key(&w, "lines");
        bh_put_integer(&w, count_lines(text));
        bh_key(&w, "words");
        bh_put_integer(&w, count_words(text));
        bh_key(&w, "bytes");
        bh_put_integer(&w, (int64_t)text.length);
        bh_key(&w, "sha256");
        bh_put_json(&w, bh_member(digest.result, "sum"));
        bh_close(&w, '}');
        bh_progress(call, ++done, total, path);
    }
    bh_close(&w, ']');
    bh_close(&w, '}');
    bh_log(BH_INFO, "counted %d files", done);
    bh_structured(call, bh_written(&w));
}

static void list_prompts(bh_call *call, bh_json params) {
    (void)params;
    bh_prompt(call, "c_tally_shorten", "Ask for a shorter version of a file",
              bh_json_str("[{\"name\":\"path\",\"description\":\"A file of the project\",\"required\":true}]"));
}

static void get_prompt(bh_call *call, bh_json params) {
    bh_string name = bh_string_of(bh_member(params, "name"));
    if (!bh_equal(name, "c_tally_shorten")) {
        bh_error(call, BH_INVALID_PARAMS, bh_format("there is no prompt %s", name.at), BH_ABSENT);
        return;
    }
    bh_string path = bh_string_of(bh_member(bh_member(params, "arguments"), "path"));
    if (!path.at) {
        bh_error(call, BH_INVALID_PARAMS, bh_str("the argument path is missing"), BH_ABSENT);
        return;
    }
    bh_string text = read_file(path);
    if (!text.at) {
        bh_error(call, BH_INTERNAL, bh_format("%s: %s", path.at, strerror(errno)), BH_ABSENT);
        return;
    }
    bh_message(call, "user", bh_format("Say this in %lld words:\n\n%s", (long long)count_words(text) / 2, text.at));
}

/* Calls visit for each Markdown file at the top of the project whose name begins with prefix. */
static void each_name(bh_call *call, bh_string prefix, void (*visit)(bh_call *, bh_string name)) {
    const char *project = getenv("BULKHEAD_PROJECT");
    struct dirent **entries;
    int count = scandir(project ? project : "", &entries, NULL, alphasort);
    if (count < 0) {
        bh_error(call, BH_INTERNAL, bh_str(strerror(errno)), BH_ABSENT);
        return;
    }
    for (int i = 0; i < count; i++) {
        bh_string name = bh_format("%s", entries[i]->d_name);
        if (entries[i]->d_type == DT_REG && name.length > 3 && bh_equal(bh_str(name.at + name.length - 3), ".md") &&
            name.length >= prefix.length && !memcmp(name.at, prefix.at, prefix.length)) {
            visit(call, name);
        }
        free(entries[i]);
    }
    free(entries);
}

static const char scheme[] = "c-tally:";

static void add_resource(bh_call *call, bh_string name) { bh_resource(call, bh_format("%s%s", scheme, name.at), name, NULL, NULL); }

static void list_resources(bh_call *call, bh_json params) {
    (void)params;
    each_name(call, bh_str(""), add_resource);
}

static void list_templates(bh_call *call, bh_json params) {
    (void)params;
    bh_template(call, "c-tally:{path}", "tally of a file", NULL, NULL);
}

static void read_resource(bh_call *call, bh_json params) {
    bh_string uri = bh_string_of(bh_member(params, "uri")), text = {0};
    if (uri.at && !strncmp(uri.at, scheme, strlen(scheme))) {
        text = read_file(bh_str(uri.at + strlen(scheme)));
    }
    if (!text.at) {
        bh_error(call, BH_RESOURCE_NOT_FOUND, bh_format("there is no resource %s", uri.at), BH_ABSENT);
        return;
    }
    bh_contents(call, uri, "text/plain",
                bh_format("%lld lines, %lld words", (long long)count_lines(text), (long long)count_words(text)));
}

static void complete(bh_call *call, bh_json params) {
    each_name(call, bh_string_of(bh_member(bh_member(params, "argument"), "value")), bh_value);
}

static const bh_tool tools[] = {{"c_tally", count}, {0}};

BH_PLUGIN(.tools = tools, .list_prompts = list_prompts, .get_prompt = get_prompt, .list_resources = list_resources,
          .list_templates = list_templates, .read_resource = read_resource, .complete = complete)
