package traces

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/download"
	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
)

const (
	postTime  = 10 * time.Second // of one try
	maxAnswer = 64 << 10         // bytes
	maxReason = 200              // bytes of what a collector states
	minSecret = 8                // bytes of a header's value that may be a secret: shorter ones, such as the number of a tenant, can be guessed
)

// retry is the error of a batch that should be sent again.
type retry struct {
	error
	after time.Duration // that the collector asks to wait; 0: it does not say
}

func (r *retry) Unwrap() error { return r.error }

// retryOf returns the retry in err; nil if there is none.
func retryOf(err error) *retry {
	var again *retry
	errors.As(err, &again)
	return again
}

// body returns the compressed body of a request with a batch.
func (s Source) body(batch []Span) ([]byte, error) {
	encoded, err := s.encode(batch)
	if err != nil {
		return nil, err
	}
	var compressed bytes.Buffer
	w := gzip.NewWriter(&compressed)
	if _, err := w.Write(encoded); err != nil {
		return nil, err
	}
	err = w.Close()
	return compressed.Bytes(), err
}

// post makes one try to send a batch of n spans, and returns how many of them the collector has accepted.
func (e *Exporter) post(body []byte, n int) (accepted int, err error) {
	ctx, cancel := context.WithTimeout(e.ctx, postTime)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, e.config.To+"/v1/traces", bytes.NewReader(body))
	if err != nil {
		return 0, errors.New("otlp in [audit] is no valid address of a collector")
	}
	if e.config.Headers != nil {
		if r.Header, err = e.config.Headers(); err != nil {
			return 0, &retry{error: err} // the file may be replaced
		}
	}
	headers := r.Header.Clone()
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Content-Encoding", "gzip")
	answer, err := e.config.Client.Do(r)
	if err != nil {
		return 0, &retry{error: connectionError(err)}
	}
	defer answer.Body.Close()
	switch status := answer.StatusCode; {
	case status == http.StatusTooManyRequests, status == http.StatusBadGateway, status == http.StatusServiceUnavailable, status == http.StatusGatewayTimeout:
		return 0, &retry{statusOf(answer), retryAfter(answer.Header, time.Now())} // as the specification lists them
	case status/100 != 2: // it has only 200, but not all collectors keep to that
		return 0, statusOf(answer)
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil { // it has accepted the batch: sent again, its spans would be there twice
		text = nil
	}
	refused, why := rejected(text)
	if refused > 0 {
		err = fmt.Errorf("the collector rejects spans: %s", visible.Bounded(withoutValues(why, headers), maxReason))
		return n - int(min(refused, int64(n))), err
	}
	return n, nil
}

func statusOf(answer *http.Response) error {
	return &download.StatusError{Host: answer.Request.URL.Host, Status: answer.StatusCode}
}

// connectionError returns err without the address, whose path may be a secret, and without what the collector has sent: errors about an invalid answer
// quote it, and it may repeat the token.
func connectionError(err error) error {
	var failed *url.Error
	if errors.As(err, &failed) {
		err = failed.Err
	}
	var network net.Error
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.As(err, &network), errors.As(err, &certificate), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, context.Canceled):
		return err
	}
	return errors.New("the collector cannot be reached, or its answer is not valid HTTP")
}

// retryAfter returns the time that a collector asks to wait: a number of seconds, or a date.
func retryAfter(h http.Header, now time.Time) time.Duration {
	value := h.Get("Retry-After")
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if date, err := http.ParseTime(value); err == nil {
		return max(date.Sub(now), 0)
	}
	return 0
}

// withoutValues replaces the values of headers in a text of the collector, which may repeat the token that it refuses.
func withoutValues(text string, headers http.Header) string {
	var secrets []string
	for _, values := range headers {
		for _, value := range values {
			secrets = append(secrets, value)
			if _, rest, found := strings.Cut(value, " "); found { // after the scheme
				secrets = append(secrets, rest)
			}
		}
	}
	secrets = slices.DeleteFunc(secrets, func(s string) bool { return len(s) < minSecret })
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) }) // one may be the beginning of another
	for _, secret := range secrets {
		text = strings.ReplaceAll(text, secret, "…")
	}
	return text
}
