package extism

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// maxRequestValues bounds the JSON values of a request, as the host operation http/fetch does.
const maxRequestValues = 1000

// EncodeRequest returns the host operation for a web request of the kernel's function http_request: JSON with url, method and headers.
func EncodeRequest(request, body []byte) ([]byte, error) {
	if !rawjson.Valid(request) || rawjson.Kind(request) != '{' {
		return nil, errors.New("the request is not a JSON object")
	}
	if err := rawjson.Bound(request, maxRequestValues, maxNesting); err != nil {
		return nil, fmt.Errorf("the request has too many values: %w", err)
	}
	var r struct {
		URL     string            `json:"url"`
		Method  string            `json:"method"`
		Headers map[string]string `json:"headers"`
	}
	if err := json.Unmarshal(request, &r); err != nil {
		return nil, fmt.Errorf("the request is invalid: %w", err)
	}
	q := abi.HTTPRequest{URL: r.URL, Method: strings.ToUpper(r.Method), Body: body}
	for name, value := range r.Headers {
		if q.Headers == nil {
			q.Headers = make(map[string][]string, len(r.Headers))
		}
		q.Headers[name] = []string{value}
	}
	params, err := rawjson.Marshal(q)
	if err != nil {
		return nil, err
	}
	return operation(abi.OpHTTPFetch, params), nil
}

// WebResponse is a response as the kernel's functions http_status_code, http_headers and http_request return it.
type WebResponse struct {
	Status  int
	Headers []byte // a JSON object of strings
	Body    []byte
}

// DecodeResponse converts the abi.HostResponse of a web request. An operation that was refused or failed is an error.
func DecodeResponse(response []byte) (WebResponse, error) {
	var r struct {
		Result *abi.HTTPResponse `json:"result"`
		Error  *abi.HostError    `json:"error"`
	}
	if err := json.Unmarshal(response, &r); err != nil {
		return WebResponse{}, fmt.Errorf("the host's response is invalid: %w", err)
	}
	if r.Error != nil {
		return WebResponse{}, r.Error
	}
	if r.Result == nil {
		return WebResponse{}, errors.New("the host's response has no result")
	}
	joined := make(map[string]string, len(r.Result.Headers))
	for name, values := range r.Result.Headers {
		joined[name] = strings.Join(values, ", ")
	}
	headers, err := rawjson.Marshal(joined)
	return WebResponse{Status: r.Result.Status, Headers: headers, Body: r.Result.Body}, err
}
