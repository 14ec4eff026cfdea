package sdk

import "github.com/bulkhead-mcp/bulkhead/sdk/abi"

// Claims are names of prompts and URIs of resources.
type Claims = abi.Claims

// Claimed returns those of the names and URIs that the manifest of another plugin claims. A plugin that creates prompts
// or resources at call time checks first: clients never see one that is claimed. It takes at most abi.MaxClaims names
// and URIs together.
func Claimed(names Claims) (Claims, error) {
	var claimed Claims
	err := HostCall(abi.OpClaims, names, &claimed)
	return claimed, err
}
