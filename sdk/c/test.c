/* Native tests of the header, with a host of their own. */
#define BULKHEAD_IMPLEMENTATION
#include "bulkhead.h"

#include <assert.h>
#include <stdio.h>

static bh_string input, output, host_request, host_answer;
static char last_log[100];

void bh_import_input(char *destination, size_t length) { memcpy(destination, input.at, length); }
void bh_import_output(const char *source, size_t length) { output = bh_copy(source, length); }
size_t bh_import_host_call(const char *source, size_t length) {
    host_request = bh_copy(source, length);
    return host_answer.length;
}
void bh_import_host_result(char *destination, size_t length) { memcpy(destination, host_answer.at, length); }
void bh_import_log(int level, const char *source, size_t length) { snprintf(last_log, sizeof last_log, "%d %.*s", level, (int)length, source); }

static void echo(bh_call *call, bh_json arguments) { bh_text(call, bh_string_of(bh_member(arguments, "text"))); }
static void both(bh_call *call, bh_json arguments) {
    (void)arguments;
    bh_structured(call, bh_json_str("{\"a\":1}"));
}
static void fails(bh_call *call, bh_json arguments) {
    bh_text(call, bh_str("lost"));
    bh_error(call, -1, bh_str("no"), arguments);
}
static void asks(bh_call *call, bh_json arguments) {
    (void)arguments;
    bh_set_state(call, bh_format("%sx", call->state.at ? call->state.at : ""));
    bh_json name = bh_elicit(call, "name", bh_str("Who?"), bh_json_str("{}")), roots = bh_ask(call, "roots", "roots/list", BH_ABSENT);
    if (name.length && roots.length) {
        bh_text(call, bh_string_of(bh_member(bh_member(name, "content"), "name")));
    }
}
static const bh_tool tools[] = {{"echo", echo}, {"both", both}, {"fails", fails}, {"asks", asks}, {0}};
BH_PLUGIN(.tools = tools)

static void expect(const char *got, const char *want) {
    if (strcmp(got, want)) {
        fprintf(stderr, "got  %s\nwant %s\n", got, want);
        exit(1);
    }
}

static const char *call(const char *request) {
    input = bh_str(request);
    bulkhead_call(input.length);
    return output.at;
}

static void test_requests(void) {
    expect(call("{\"method\":\"tools/call\",\"params\":{\"name\":\"echo\",\"arguments\":{\"text\":\"a\\u0000\\\"\\ud83d\\ude00\\ud800\"}}}"),
           "{\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"a\\u0000\\\"\xf0\x9f\x98\x80\xef\xbf\xbd\"}]}}");
    expect(call("{\"method\":\"tools/call\",\"params\":{\"name\":\"both\"}}"),
           "{\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"{\\\"a\\\":1}\"}],\"structuredContent\":{\"a\":1}}}");
    expect(call("{\"method\":\"tools/call\",\"params\":{\"name\":\"fails\"}}"), "{\"error\":{\"code\":-1,\"message\":\"no\",\"data\":{}}}");
    expect(call("{\"method\":\"tools/call\",\"params\":{\"name\":\"x\"}}"), "{\"error\":{\"code\":-32602,\"message\":\"no handler for tool x\"}}");
    expect(call("{\"method\":\"prompts/list\"}"), "{\"error\":{\"code\":-32601,\"message\":\"no handler for prompts/list\"}}");
    expect(call("{\"method\":\"bulkhead/describe\"}"),
           "{\"result\":{\"tools\":[\"echo\",\"both\",\"fails\",\"asks\"],\"prompts\":false,\"resources\":false,\"completions\":false}}");
}

static void test_questions(void) {
    const char *name = "{\"method\":\"elicitation/create\",\"params\":{\"mode\":\"form\",\"message\":\"Who?\",\"requestedSchema\":{}}}";
    const char *roots = "{\"method\":\"roots/list\",\"params\":{}}";
    char want[500];
    snprintf(want, sizeof want, "{\"ask\":{\"requests\":{\"name\":%s,\"roots\":%s},\"state\":\"xx\"}}", name, roots);
    expect(call("{\"method\":\"tools/call\",\"params\":{\"name\":\"asks\"},\"client\":{\"roots\":{}},\"state\":\"x\"}"), want);
    snprintf(want, sizeof want, "{\"ask\":{\"requests\":{\"name\":%s},\"state\":\"x\"}}", name);
    expect(call("{\"method\":\"tools/call\",\"params\":{\"name\":\"asks\"},\"client\":{},\"answers\":{\"roots\":{}}}"), want);
    expect(call("{\"method\":\"tools/call\",\"params\":{\"name\":\"asks\"},\"client\":{},"
                "\"answers\":{\"roots\":{},\"name\":{\"action\":\"accept\",\"content\":{\"name\":\"Ada\"}}}}"),
           "{\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"Ada\"}]}}");
    assert(strstr(call("{\"method\":\"tools/call\",\"params\":{\"name\":\"asks\"}}"), "the client cannot be asked"));
}

static void test_reading(void) {
    bh_json object = bh_json_str(" { \"a\" : 1 , \"b\":[ true, \"}\" , {} ],\"a\":-2.5e1,\"\\u0063\":9007199254740993}");
    assert(bh_number_of(bh_member(object, "a"), 0) == -25);
    assert(bh_integer_of(bh_member(object, "a"), 0) == -25);
    assert(bh_integer_of(bh_member(object, "c"), 0) == 9007199254740993);
    assert(bh_integer_of(bh_json_str("1.5"), 7) == 7 && bh_integer_of(bh_json_str("99999999999999999999"), 7) == 7);
    assert(!bh_member(object, "missing").length && !bh_string_of(bh_member(object, "a")).at);
    bh_json list = bh_member(object, "b"), item = bh_next(list, BH_ABSENT, NULL);
    assert(bh_bool_of(item, false));
    item = bh_next(list, item, NULL);
    assert(bh_equal(bh_string_of(item), "}"));
    item = bh_next(list, item, NULL);
    assert(item.length == 2 && !bh_next(item, BH_ABSENT, NULL).length);
    assert(!bh_next(list, item, NULL).length);
    bh_string bytes = bh_base64_of(bh_json_str("\"AAH+/w==\""));
    assert(bytes.length == 4 && !memcmp(bytes.at, "\x00\x01\xfe\xff", 4));
    assert(!bh_base64_of(bh_json_str("\"A===\"")).at && !bh_base64_of(bh_json_str("\"AA\\u0000=\"")).at);
}

/* Every prefix and every change of a byte of a request is read within its bounds. */
static void test_malformed(void) {
    const char request[] = "{\"method\":\"tools/call\",\"params\":{\"name\":\"echo\",\"arguments\":{\"text\":\"\\u00fc\\n\\ud83d\\ude00\",\"x\":[1,{}]}}}";
    for (size_t length = 0; length < sizeof request; length++) {
        char *copy = malloc(length + 1);
        memcpy(copy, request, length);
        bh_dispatch((bh_string){copy, length});
        for (size_t i = 0; i < length; i++) {
            for (const char *b = "\"\\{[]}:,u0 "; *b; b++) {
                char before = copy[i];
                copy[i] = *b;
                bh_dispatch((bh_string){copy, length});
                copy[i] = before;
            }
            if (i % 16 == 15) {
                bh_free_all();
            }
        }
        free(copy);
        bh_free_all();
    }
}

static void test_writing(void) {
    bh_writer w = {0};
    bh_open(&w, '[');
    bh_put_string(&w, (bh_string){"\x00\x1f\x7f\xc3\xbc\xc0\x80\xed\xa0\x80\xf4\x90\x80\x80", 14});
    bh_put_number(&w, 0.5);
    bh_put_number(&w, NAN);
    bh_put_base64(&w, bh_str("fo"));
    bh_put_json(&w, BH_ABSENT);
    bh_close(&w, ']');
    expect(w.at, "[\"\\u0000\\u001f\x7f\xc3\xbc" "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\",0.5,null,\"Zm8=\",null]");
}

static void test_host(void) {
    host_answer = bh_str("{\"error\":{\"code\":\"denied\",\"message\":\"no\"}}");
    bh_answer answer = bh_lock("a\"b", NULL);
    assert(bh_equal(answer.code, "denied") && bh_equal(answer.message, "no") && !answer.reason.at);
    expect(host_request.at, "{\"op\":\"lock\",\"params\":{\"name\":\"a\\\"b\"}}");
    host_answer = bh_str("{\"result\":{\"status\":200,\"body\":\"aGk=\"}}");
    bh_response response = bh_http_get("https://example.com");
    assert(response.status == 200 && bh_equal(response.body, "hi"));
    bh_host_with_bytes("hash/sha256", bh_json_str("{}"), (bh_string){"", 0});
    assert(host_request.length == sizeof "{\"op\":\"hash/sha256\",\"params\":{}}" && !host_request.at[host_request.length - 1]);
    bh_log(BH_WARN, "%d%%", 5);
    expect(last_log, "4 5%");
}

int main(void) {
    test_requests();
    test_questions();
    test_reading();
    test_writing();
    test_host();
    test_malformed();
    bh_free_all();
    puts("ok");
}
