package gateway

import (
	"encoding/json"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/interaction"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// builtin handles initialize, ping and logging/setLevel of the legacy era, and server/discover of the modern
// one. All other methods are unknown.
func (s *session) builtin(m *message, meta requestMeta) ([]byte, *abi.Error) {
	if meta.modern {
		return meta.served.discover(m)
	}
	switch method := mcp.MCPMethod(m.method); {
	case method == mcp.MethodInitialize:
		return s.initialize(m, meta.served)
	case method == mcp.MethodPing:
		return []byte(`{}`), checkShape(m, &mcp.PingRequest{})
	case method == mcp.MethodSetLogLevel && meta.served.config.Logging:
		return []byte(`{}`), s.setLevel(m)
	}
	return nil, methodNotFound(m.method)
}

func (s *session) initialize(m *message, now *served) ([]byte, *abi.Error) {
	if err := checkShape(m, &mcp.InitializeRequest{}); err != nil {
		return nil, err
	}
	requested, _ := rawjson.Unquote(rawjson.Member(m.params.all, "protocolVersion"))
	if len(now.legacy) == 0 {
		return nil, now.unsupportedVersion(requested)
	}
	s.version, s.client = now.negotiate(requested), clientName(rawjson.Member(m.params.all, "clientInfo"))
	s.can = interaction.ParseClient(rawjson.Member(m.params.all, "capabilities"))
	s.subscriptions.initialize(now.config.Offers)
	return encode(mcp.InitializeResult{
		ProtocolVersion: s.version,
		Capabilities:    now.config.capabilities(false),
		ServerInfo:      now.config.implementation(),
		Instructions:    now.config.Instructions,
	})
}

func (s *session) setLevel(m *message) *abi.Error {
	if err := checkShape(m, &mcp.SetLevelRequest{}); err != nil {
		return err
	}
	text, _ := rawjson.Unquote(rawjson.Member(m.params.all, "level"))
	level := mcp.LoggingLevel(text)
	if !level.ShouldSendTo(mcp.LoggingLevelDebug) {
		return &abi.Error{Code: abi.CodeInvalidParams, Message: fmt.Sprintf("invalid logging level '%s'", level)}
	}
	s.level.Store(level)
	return nil
}

// discover handles server/discover and unknown methods of the modern era. Each modern request carries the
// client's capabilities, which are fully checked here only.
func (now *served) discover(m *message) ([]byte, *abi.Error) {
	var meta mcp.Meta
	if err := json.Unmarshal(m.params.meta.all, &meta); err != nil || meta.ClientCapabilities() == nil {
		return nil, &abi.Error{Code: abi.CodeInvalidParams, Message: "missing or invalid _meta field " + mcp.MetaKeyClientCapabilities}
	}
	if m.method != string(mcp.MethodServerDiscover) {
		return nil, methodNotFound(m.method)
	}
	var result mcp.DiscoverResult
	result.SetResultType(mcp.ResultTypeComplete)
	result.EnsureResultMeta().SetServerInfo(now.config.implementation())
	result.SetCacheHints(0, mcp.CacheScopePrivate)
	result.SupportedVersions = now.versions
	result.Capabilities = now.config.capabilities(true)
	result.Instructions = now.config.Instructions
	return encode(result)
}

// checkShape decodes parameters into the MCP library's type of the request.
func checkShape(m *message, request any) *abi.Error {
	if m.params.all == nil {
		return nil
	}
	if err := json.Unmarshal(fmt.Appendf(nil, `{"params":%s}`, m.params.all), request); err != nil {
		return &abi.Error{Code: codeInvalidRequest, Message: fmt.Sprintf("unparsable %s request: %s", m.method, err)}
	}
	return nil
}

func encode(result any) ([]byte, *abi.Error) {
	encoded, err := json.Marshal(result)
	if err != nil {
		return nil, &abi.Error{Code: abi.CodeInternal, Message: "internal error: " + err.Error()}
	}
	return encoded, nil
}

func (c Config) implementation() mcp.Implementation {
	return mcp.Implementation{Name: c.Name, Title: c.Title, Version: c.Version}
}

// capabilities returns the server capabilities for server/discover of the modern era, or for initialize.
func (c Config) capabilities(modern bool) mcp.ServerCapabilities {
	var capabilities mcp.ServerCapabilities
	if c.offersTools() {
		enable(&capabilities.Tools).ListChanged = c.Offers.ToolsChange
	}
	if c.Offers.Prompts {
		enable(&capabilities.Prompts).ListChanged = c.Offers.PromptsChange
	}
	if c.Offers.Resources {
		resources := enable(&capabilities.Resources)
		resources.Subscribe, resources.ListChanged = c.Offers.Subscribe, c.Offers.ResourcesChange
	}
	if c.Offers.Completions {
		enable(&capabilities.Completions)
	}
	if c.Logging {
		enable(&capabilities.Logging)
	}
	extensions := map[string]any{}
	if modern && c.Offers.Tasks {
		extensions[TasksExtension] = struct{}{}
	}
	if c.Offers.Skills {
		extensions["io.modelcontextprotocol/skills"] = map[string]bool{"directoryRead": true}
	}
	if len(extensions) > 0 {
		capabilities.Extensions = extensions
	}
	return capabilities
}

// enable allocates a capability and returns it. It is generic because some of the types are anonymous structs.
func enable[T any](capability **T) *T {
	*capability = new(T)
	return *capability
}
