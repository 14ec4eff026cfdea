package extism

import (
	"strings"
	"testing"
)

func TestEncodeRequest(t *testing.T) {
	for _, c := range []struct{ request, body, want string }{
		{`{"url":"https://a.example/x","headers":{"Accept":"text/html"},"method":"post"}`, "hi",
			`{"op":"http/fetch","params":{"url":"https://a.example/x","method":"POST","headers":{"Accept":["text/html"]},"body":"aGk="}}`},
		{`{"url":"https://a.example","method":null}`, "", `{"op":"http/fetch","params":{"url":"https://a.example"}}`},
		{`{}`, "", `{"op":"http/fetch","params":{"url":""}}`},
	} {
		var body []byte
		if c.body != "" {
			body = []byte(c.body)
		}
		got, err := EncodeRequest([]byte(c.request), body)
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %s, %v; want %s", c.request, got, err, c.want)
		}
	}
	many := `{"url":"x","headers":{` + strings.Repeat(`"a":"b",`, 2000) + `"c":"d"}}`
	for _, request := range []string{"", "[]", `{"url":7}`, `{"headers":{"a":["b"]}}`, many, `{"url":"x"}{`} {
		if got, err := EncodeRequest([]byte(request), nil); err == nil {
			t.Errorf("%.60s became %s", request, got)
		}
	}
}

func TestDecodeResponse(t *testing.T) {
	got, err := DecodeResponse([]byte(`{"result":{"status":404,"url":"u","headers":{"set-cookie":["a=1","b=<2>"],"x":[]},"body":"aGk="}}`))
	if err != nil || got.Status != 404 || string(got.Body) != "hi" || string(got.Headers) != `{"set-cookie":"a=1, b=<2>","x":""}` {
		t.Errorf("%d %s %s, %v", got.Status, got.Headers, got.Body, err)
	}
	for response, want := range map[string]string{
		`{"error":{"code":"denied","message":"not granted"}}`: "not granted (denied)",
		`{}`:   "has no result",
		`null`: "has no result",
		`x`:    "is invalid",
	} {
		if _, err := DecodeResponse([]byte(response)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", response, err, want)
		}
	}
}
