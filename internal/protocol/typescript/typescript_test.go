package typescript

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestType(t *testing.T) {
	for schema, want := range map[string]string{
		`{}`:                             "unknown",
		`true`:                           "unknown",
		`false`:                          "never",
		`{"type":"integer"}`:             "number",
		`{"type":["string","null"]}`:     "(string | null)",
		`{"type":["integer","number"]}`:  "number",
		`{"enum":["a","b",3,null,true]}`: `("a" | "b" | 3 | null | true)`,
		`{"const":"*/"}`:                 `"*/"`,
		`{"type":"array","items":{"type":"string"}}`:                               "string[]",
		`{"type":"array","items":{"anyOf":[{"type":"string"},{"type":"number"}]}}`: "(string | number)[]",
		`{"type":"array"}`:  "unknown[]",
		`{"type":"object"}`: "Record<string, unknown>",
		`{"type":"object","additionalProperties":false}`:                                                            "{}",
		`{"type":"object","additionalProperties":{"type":"number"}}`:                                                "Record<string, number>",
		`{"type":"array","items":{"type":"object","properties":{"a":{}},"additionalProperties":{"type":"number"}}}`: "({ a?: unknown } & Record<string, number>)[]",
		`{"type":"object","properties":{"a-b":{"type":"string","description":"x */ y"},"n":{"type":"integer","default":5,"maximum":9}},"required":["n"]}`: "{\n  /** x * / y */\n  \"a-b\"?: string;\n" +
			"  /** (integer, default 5, at most 9) */\n  n: number;\n}",
		`{"$defs":{"node":{"type":"object","properties":{"next":{"$ref":"#/$defs/node"}}}},"$ref":"#/$defs/node"}`: "{ next?: unknown }",
		`{"$ref":"other.json"}`: "unknown",
		`{"type":"object","properties":{"a":{"type":"string"}},"anyOf":[{"required":["a"]},{"required":["b"]}]}`:                    "{ a?: string }",
		`{"allOf":[{"type":"object","properties":{"a":{"type":"string"}}},{"type":"object","properties":{"b":{"type":"string"}}}]}`: "({ a?: string } & { b?: string })",
	} {
		if got := Type(json.RawMessage(schema)); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", schema, got, want)
		}
	}
}

func TestMethod(t *testing.T) {
	got := Method("a-b", "Does it.", json.RawMessage(`{"type":"object","properties":{}}`), json.RawMessage(`{"type":"object","properties":{"n":{"type":"number"}}}`))
	if want := "/** Does it. */\n\"a-b\"(args: Record<string, unknown>): { n?: number };"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestResultsHaveNoBounds checks that the type of a result is as short as it can be: bounds matter to who writes a value.
func TestResultsHaveNoBounds(t *testing.T) {
	object := json.RawMessage(`{"type":"object","required":["n"],"properties":{"n":{"type":"integer","minimum":1},"s":{"type":"string"}}}`)
	want := "it(args: {\n  /** (integer, at least 1) */\n  n: number;\n  s?: string;\n}): { n: number; s?: string };"
	if got := Method("it", "", object, object); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestParameters(t *testing.T) {
	schema := json.RawMessage(`{"properties":{"query":{"type":"string"},"limit":{"type":"integer"},"third":{}},"required":["query"]}`)
	for limit, want := range map[int]string{
		100: "query: string, limit?: number, third?: unknown", 30: "query, limit?, third?", 18: "query, limit?, …", 11: "query, …", 3: "…",
	} {
		if got := Parameters(schema, limit); got != want {
			t.Errorf("%d: got %q, want %q", limit, got, want)
		}
	}
}

// TestTypeIsBounded checks schemas whose types would be far larger than they are.
func TestTypeIsBounded(t *testing.T) {
	defs := `"z":{"type":"string"}`
	for c := 'a'; c < 'p'; c++ {
		next := string(c + 1)
		if c == 'o' {
			next = "z"
		}
		defs += `,"` + string(c) + `":{"type":"object","properties":{"x":{"$ref":"#/$defs/` + next + `"},"y":{"$ref":"#/$defs/` + next + `"}}}`
	}
	if got := Type(json.RawMessage(`{"$defs":{` + defs + `},"$ref":"#/$defs/a"}`)); len(got) > 4*maxBytes {
		t.Errorf("the type has %d bytes", len(got))
	}
	deep := strings.Repeat(`{"type":"array","items":`, 100) + "{}" + strings.Repeat("}", 100)
	if got := Type(json.RawMessage(deep)); got != "unknown"+strings.Repeat("[]", maxDepth) {
		t.Errorf("got %s", got)
	}
}

func FuzzType(f *testing.F) {
	for _, seed := range []string{`{}`, `{"enum":["\u2028"]}`, `{"$ref":"#/a","a":{"$ref":"#"}}`, `{"type":"object","properties":{"*/":{"description":"*/ //"}}}`, `[`, `{"properties":{"a":`} {
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, schema, doc string) {
		if !json.Valid([]byte(schema)) {
			return
		}
		text := Method("it", doc, json.RawMessage(schema), json.RawMessage(schema))
		if code := withoutTexts(text); strings.Trim(code, allowedInCode) != "" {
			t.Errorf("%q remains of\n%s", code, text)
		}
	})
}

// allowedInCode are the characters of a declaration besides comments and string literals.
const allowedInCode = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$ \n{}[]()<>:;,?|&+-."

// withoutTexts removes comments and string literals, as a parser of TypeScript finds them. What is open at the end remains.
func withoutTexts(text string) string {
	var out strings.Builder
	for text != "" {
		switch {
		case strings.HasPrefix(text, "/*"):
			end := strings.Index(text[2:], "*/")
			if end < 0 {
				return text
			}
			text = text[end+4:]
		case text[0] == '"':
			end := 1
			for end < len(text) && text[end] != '"' && text[end] != '\n' {
				if text[end] == '\\' {
					end++
				}
				end++
			}
			if end >= len(text) || text[end] != '"' {
				return text
			}
			text = text[end+1:]
		default:
			out.WriteByte(text[0])
			text = text[1:]
		}
	}
	return out.String()
}
