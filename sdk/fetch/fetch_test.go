//go:build !wasip1

package fetch_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bulkhead-mcp/bulkhead/sdk"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/fetch"
	"github.com/bulkhead-mcp/bulkhead/sdk/internal/imports"
	"github.com/google/go-cmp/cmp"
)

// setHost sets a host that records the last request, and responds with the result of answer.
func setHost(t *testing.T, answer func() string) *abi.HTTPRequest {
	asked := &abi.HTTPRequest{}
	imports.SetHost(&imports.Host{Call: func(request []byte) []byte {
		var r abi.HostRequest
		if err := json.Unmarshal(request, &r); err != nil || r.Op != abi.OpHTTPFetch {
			t.Errorf("the host was asked for %s, %v", request, err)
		}
		if err := json.Unmarshal(r.Params, asked); err != nil {
			t.Error(err)
		}
		return []byte(answer())
	}})
	t.Cleanup(func() { imports.SetHost(nil) })
	return asked
}

func TestDo(t *testing.T) {
	asked := setHost(t, func() string {
		return `{"result":{"status":201,"url":"https://a.example/y","headers":{"content-type":["text/plain"],"set-cookie":["a","b"]},"body":"aGk="}}`
	})
	response, err := fetch.Do(t.Context(), fetch.Request{
		URL: "https://a.example/x", Method: "POST", Header: fetch.Header{"X-A": {"1"}}, Body: []byte("yo"), NoRedirects: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	want := &fetch.Response{Status: 201, URL: "https://a.example/y", Body: []byte("hi"),
		Header: fetch.Header{"content-type": {"text/plain"}, "set-cookie": {"a", "b"}}}
	if diff := cmp.Diff(want, response); diff != "" {
		t.Error(diff)
	}
	wantAsked := &abi.HTTPRequest{URL: "https://a.example/x", Method: "POST", Headers: map[string][]string{"X-A": {"1"}}, Body: []byte("yo"), Redirect: abi.RedirectManual}
	if diff := cmp.Diff(wantAsked, asked); diff != "" {
		t.Error(diff)
	}
}

func TestGetSendsOnlyURL(t *testing.T) {
	asked := setHost(t, func() string { return `{"result":{"status":204,"url":"https://a.example/","headers":{}}}` })
	if response, err := fetch.Get(t.Context(), "https://a.example/"); err != nil || response.Status != 204 || len(response.Body) != 0 {
		t.Errorf("got %+v, %v", response, err)
	}
	if diff := cmp.Diff(&abi.HTTPRequest{URL: "https://a.example/"}, asked); diff != "" {
		t.Error(diff)
	}
}

func TestRefusalIsHostError(t *testing.T) {
	setHost(t, func() string { return `{"error":{"code":"denied","message":"not granted"}}` })
	_, err := fetch.Get(t.Context(), "https://a.example/")
	var host *sdk.HostError
	if !errors.As(err, &host) || host.Code != abi.HostDenied || err.Error() != "http/fetch: not granted (denied)" {
		t.Errorf("got the error %v", err)
	}
	setHost(t, func() string { return `{"error":{"code":"denied","message":"http/fetch: not granted"}}` })
	if _, err = fetch.Get(t.Context(), "https://a.example/"); err.Error() != "http/fetch: not granted (denied)" {
		t.Errorf("the operation is not named once: %v", err)
	}
}

func TestDeadlineLimitsHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := setHost(t, func() string {
			time.Sleep(time.Second)
			return `{"error":{"code":"failed","message":"no answer within 500ms"}}`
		})
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		if _, err := fetch.Get(ctx, "https://a.example/"); !errors.Is(err, context.DeadlineExceeded) || asked.TimeoutMS != 500 {
			t.Errorf("got the error %v; the host had %d ms", err, asked.TimeoutMS)
		}
		*asked = abi.HTTPRequest{}
		if _, err := fetch.Get(ctx, "https://a.example/"); !errors.Is(err, context.DeadlineExceeded) || asked.URL != "" {
			t.Errorf("after the deadline: the error %v; the host was asked for %q", err, asked.URL)
		}
	})
}

func TestHeaderNamesAreCaseInsensitive(t *testing.T) {
	h := fetch.Header{"content-type": {"text/plain"}, "X-Mixed": {"1", "2"}}
	for name, want := range map[string]string{"Content-Type": "text/plain", "content-type": "text/plain", "x-mixed": "1", "X-Other": ""} {
		if got := h.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if diff := cmp.Diff([]string{"1", "2"}, h.Values("X-MIXED")); diff != "" {
		t.Error(diff)
	}
}
