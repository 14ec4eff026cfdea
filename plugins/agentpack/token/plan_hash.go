package token

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/sdk/digest"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// unescape leaves U+2028 and U+2029 as they are, which encoding/json escapes although JSON does not require it. An escaped
// backslash is replaced by itself, so that the characters after it are not taken for an escape.
var unescape = strings.NewReplacer(`\\`, `\\`, `\u2028`, "\u2028", `\u2029`, "\u2029")

// PlanHash returns the SHA-256, in hexadecimal, of a plan and of the arguments for which the plan was computed. The
// argument data is the payload of deploy without the token. Plans that differ in any value have different hashes. The
// hash is that of canonical JSON: without white space, with keys in byte order, and with only mandatory escapes in
// strings.
func PlanHash(binding Binding, data any) (string, error) {
	raw, err := json.Marshal(map[string]any{
		"data": data,
		"binding": map[string]any{
			"machine": orNull(binding.Machine), "profile": orNull(binding.Profile),
			"repo": orNull(binding.Repo), "target": orNull(binding.Target),
		},
	})
	if err != nil {
		return "", err
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var plain any // objects are maps, whose keys are encoded in byte order
	if err := decoder.Decode(&plain); err != nil {
		return "", err
	}
	text, err := rawjson.Marshal(plain)
	if err != nil {
		return "", err
	}
	return digest.Hex([]byte(unescape.Replace(string(text)))), nil
}

func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}
