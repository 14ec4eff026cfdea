package call

import (
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

func TestCheckToolResult(t *testing.T) {
	content := func(item string) string { return `{"content":[{"type":"text","text":""},` + item + `]}` }
	cases := map[string]struct{ result, want string }{
		"content may be empty":                          {`{"content":[]}`, ""},
		"every type of content is accepted":             {`{"content":[{"type":"text","text":"a"},{"type":"image","data":"","mimeType":"image/png"},{"type":"audio","data":"","mimeType":"audio/wav"},{"type":"resource","resource":{"uri":"x:y","text":""}},{"type":"resource","resource":{"uri":"x:y","blob":""}},{"type":"resource_link","uri":"x:y","name":"n"}]}`, ""},
		"optional members are accepted":                 {`{"content":[],"structuredContent":{},"isError":true,"_meta":{},"resultType":"complete"}`, ""},
		"unknown members of content are accepted":       {content(`{"type":"text","text":"","resource":5,"annotations":{},"_meta":{},"else":[]}`), ""},
		"white space is allowed":                        {" {\n\"content\" : [ ] } ", ""},
		"escapes in strings are decoded":                {`{"\u0063ontent":[{"type":"te\u0078t","text":""}]}`, ""},
		"a result is UTF-8":                             {"{\"content\":[],\"x\":\"\xff\"}", "it is not UTF-8"},
		"a result is an object":                         {`[]`, "it is not an object"},
		"content is required":                           {`{"isError":false}`, "content is missing"},
		"content is an array":                           {`{"content":{}}`, "content is not an array"},
		"content cannot be null":                        {`{"content":null}`, "content is not an array"},
		"isError is a boolean":                          {`{"content":[],"isError":"false"}`, "isError is not true or false"},
		"structuredContent is an object":                {`{"content":[],"structuredContent":[1]}`, "structuredContent is not an object"},
		"_meta is an object":                            {`{"content":[],"_meta":null}`, "_meta is not an object"},
		"resultType is complete":                        {`{"content":[],"resultType":"input_required"}`, `resultType is not "complete"`},
		"an item is an object":                          {content(`"text"`), "content[1] is not an object"},
		"an item has a type":                            {content(`{"text":"x"}`), "content[1].type is not text, image, audio, resource or resource_link"},
		"an item's type is a string":                    {content(`{"type":1}`), "content[1].type is not text, image, audio, resource or resource_link"},
		"an item's type is known":                       {content(`{"type":"video"}`), "content[1].type is not text, image, audio, resource or resource_link"},
		"text content has a text":                       {content(`{"type":"text"}`), "content[1].text is missing"},
		"the text of text content is a string":          {content(`{"type":"text","text":null}`), "content[1].text is not a string"},
		"an image has data":                             {content(`{"type":"image","mimeType":"a/b"}`), "content[1].data is missing"},
		"an image has a media type":                     {content(`{"type":"image","data":""}`), "content[1].mimeType is missing"},
		"audio's data is a string":                      {content(`{"type":"audio","data":1,"mimeType":"a/b"}`), "content[1].data is not a string"},
		"an embedded resource has one":                  {content(`{"type":"resource"}`), "content[1].resource is missing"},
		"an embedded resource is an object":             {content(`{"type":"resource","resource":"x:y"}`), "content[1].resource is not an object"},
		"an embedded resource has a URI":                {content(`{"type":"resource","resource":{"text":""}}`), "content[1].resource.uri is missing"},
		"an embedded resource has text or a blob":       {content(`{"type":"resource","resource":{"uri":"x:y","text":1}}`), "content[1].resource.text is not a string"},
		"an embedded resource's media type is a string": {content(`{"type":"resource","resource":{"uri":"x:y","text":"","mimeType":1}}`), "content[1].resource.mimeType is not a string"},
		"an image's data is base64":                     {content(`{"type":"image","data":"a-b_","mimeType":"a/b"}`), "content[1].data is not base64"},
		"an image's data has base64 padding":            {content(`{"type":"image","data":"YQ","mimeType":"a/b"}`), "content[1].data is not base64"},
		"base64 may contain JSON escapes":               {content(`{"type":"image","data":"\/\u002f8=","mimeType":"a/b"}`), ""},
		"a member is unique":                            {content(`{"type":"text","text":"","text":""}`), "content[1].text is given twice"},
		"a member is case-sensitive":                    {content(`{"type":"text","text":"","Text":""}`), "content[1].Text differs from text only in case"},
		"a resource's members are unique":               {content(`{"type":"resource","resource":{"uri":"x:y","URI":"x:z","text":""}}`), "content[1].resource.URI differs from uri only in case"},
		"isError is unique":                             {`{"content":[],"isError":true,"isError":false}`, "isError is given twice"},
		"structuredContent is unique":                   {`{"content":[],"structuredContent":{},"StructuredContent":{}}`, "StructuredContent differs from structuredContent only in case"},
		"_meta is unique":                               {`{"content":[],"_meta":{},"_Meta":{}}`, "_Meta differs from _meta only in case"},
		"serverInfo is unique":                          {`{"content":[],"_meta":{"io.modelcontextprotocol/serverInfo":{},"io.modelcontextprotocol/serverinfo":{}}}`, "io.modelcontextprotocol/serverinfo differs from io.modelcontextprotocol/serverInfo only in case"},
		"a link has a URI":                              {content(`{"type":"resource_link","name":"n"}`), "content[1].uri is missing"},
		"a link has a name":                             {content(`{"type":"resource_link","uri":"x:y"}`), "content[1].name is missing"},
		"an item's annotations are an object":           {content(`{"type":"text","text":"","annotations":[]}`), "content[1].annotations is not an object"},
		"an item's _meta is an object":                  {content(`{"type":"text","text":"","_meta":1}`), "content[1]._meta is not an object"},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Check(abi.MethodToolsCall, []byte(test.result)); got != test.want {
				t.Errorf("Check(%s) = %q, want %q", test.result, got, test.want)
			}
		})
	}
}

func TestCheckOtherResults(t *testing.T) {
	values := func(n int) string {
		return `{"completion":{"values":[` + strings.TrimSuffix(strings.Repeat(`"v",`, n), ",") + `]}}`
	}
	message := func(m string) string { return `{"messages":[` + m + `]}` }
	cases := map[string]struct {
		method, result, want string
	}{
		"a prompt may have no messages":      {abi.MethodPromptsGet, `{"messages":[],"description":"d","x":1}`, ""},
		"a prompt has messages":              {abi.MethodPromptsGet, `{"description":"d"}`, "messages is missing"},
		"a prompt's messages are an array":   {abi.MethodPromptsGet, `{"messages":{}}`, "messages is not an array"},
		"a prompt's description is a string": {abi.MethodPromptsGet, `{"messages":[],"description":null}`, "description is not a string"},
		"a message is an object":             {abi.MethodPromptsGet, message(`5`), "messages[0] is not an object"},
		"a message has a known role":         {abi.MethodPromptsGet, message(`{"role":"system","content":{"type":"text","text":""}}`), "messages[0].role is not user or assistant"},
		"a message has content":              {abi.MethodPromptsGet, message(`{"role":"user"}`), "messages[0].content is not an object"},
		"role is unique":                     {abi.MethodPromptsGet, message(`{"role":"user","Role":"assistant","content":{"type":"text","text":""}}`), "messages[0].Role differs from role only in case"},
		"values is unique":                   {abi.MethodComplete, `{"completion":{"values":[],"values":["a"]}}`, "completion.values is given twice"},
		"contents is unique":                 {abi.MethodResourcesRead, `{"contents":[],"Contents":[]}`, "Contents differs from contents only in case"},
		"a message's content is known":       {abi.MethodPromptsGet, message(`{"role":"user","content":{"type":"text"}}`), "messages[0].content.text is missing"},
		"a message may embed a resource":     {abi.MethodPromptsGet, message(`{"role":"assistant","content":{"type":"resource","resource":{"uri":"x:y","blob":""}}}`), ""},
		"a read may have no contents":        {abi.MethodResourcesRead, `{"contents":[]}`, ""},
		"a read has contents":                {abi.MethodResourcesRead, `{}`, "contents is missing"},
		"contents have a URI":                {abi.MethodResourcesRead, `{"contents":[{"text":""}]}`, "contents[0].uri is missing"},
		"contents' blobs are base64":         {abi.MethodResourcesRead, `{"contents":[{"uri":"x:y","blob":"!"}]}`, "contents[0].blob is not base64"},
		"contents have text or a blob":       {abi.MethodResourcesRead, `{"contents":[{"uri":"x:y","text":""},{"uri":"x:y"}]}`, "contents[1] has neither text nor blob"},
		"a read may have caching hints":      {abi.MethodResourcesRead, `{"contents":[],"ttlMs":9223372036854775807,"cacheScope":"public"}`, ""},
		"a time to live may be zero":         {abi.MethodResourcesRead, `{"contents":[],"ttlMs": 0 ,"cacheScope": "private" }`, ""},
		"a time to live is not negative":     {abi.MethodResourcesRead, `{"contents":[],"ttlMs":-1}`, "ttlMs is not a whole number of milliseconds"},
		"a time to live is an integer":       {abi.MethodResourcesRead, `{"contents":[],"ttlMs":1.5}`, "ttlMs is not a whole number of milliseconds"},
		"a time to live has no exponent":     {abi.MethodResourcesRead, `{"contents":[],"ttlMs":1e3}`, "ttlMs is not a whole number of milliseconds"},
		"a time to live has at most 63 bits": {abi.MethodResourcesRead, `{"contents":[],"ttlMs":9223372036854775808}`, "ttlMs is not a whole number of milliseconds"},
		"a time to live is a number":         {abi.MethodResourcesRead, `{"contents":[],"ttlMs":"5"}`, "ttlMs is not a whole number of milliseconds"},
		"a time to live is not null":         {abi.MethodResourcesRead, `{"contents":[],"ttlMs":null}`, "ttlMs is not a whole number of milliseconds"},
		"a cache scope is known":             {abi.MethodResourcesRead, `{"contents":[],"cacheScope":"shared"}`, "cacheScope is not public or private"},
		"a cache's scope is in lower case":   {abi.MethodResourcesRead, `{"contents":[],"cacheScope":"Public"}`, "cacheScope is not public or private"},
		"a cache's scope is a string":        {abi.MethodResourcesRead, `{"contents":[],"cacheScope":["public"]}`, "cacheScope is not public or private"},
		"a result's _meta is an object":      {abi.MethodResourcesRead, `{"contents":[],"_meta":[]}`, "_meta is not an object"},
		"a completion may be empty":          {abi.MethodComplete, `{"completion":{"values":[],"total":0,"hasMore":false}}`, ""},
		"a completion has values":            {abi.MethodComplete, `{"completion":{}}`, "completion.values is missing"},
		"a completion is an object":          {abi.MethodComplete, `{"completion":[]}`, "completion is not an object"},
		"a completion may have 100 values":   {abi.MethodComplete, values(100), ""},
		"a completion has no more than 100":  {abi.MethodComplete, values(101), "completion.values[100] exceeds the limit of 100 values"},
		"a completion's values are strings":  {abi.MethodComplete, `{"completion":{"values":[1]}}`, "completion.values[0] is not a string"},
		"a completion's total is a number":   {abi.MethodComplete, `{"completion":{"values":[],"total":"1"}}`, "completion.total is not a number"},
		"hasMore is a boolean":               {abi.MethodComplete, `{"completion":{"values":[],"hasMore":1}}`, "completion.hasMore is not true or false"},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Check(test.method, []byte(test.result)); got != test.want {
				t.Errorf("%s: %q, want %q", test.result, got, test.want)
			}
		})
	}
}
