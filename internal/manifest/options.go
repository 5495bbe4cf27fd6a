package manifest

import "strings"

// Target is a platform.
type Target string

// Targets.
const (
	Envoy        Target = "envoy"
	Istio        Target = "istio"
	EnvoyGateway Target = "envoy-gateway"
	Higress      Target = "higress"
)

// Mode is the kind of proxy that Istio runs the plugin in.
type Mode string

// Modes.
const (
	Gateway  Mode = "gateway"
	Sidecar  Mode = "sidecar"
	Waypoint Mode = "waypoint"
)

// Options say what is made and for which surroundings. Secrets are named here,
// never held.
type Options struct {
	Target Target
	// Source names the configuration's file in comments.
	Source string

	// Mode is Istio's; "" is a gateway.
	Mode Mode
	// Gateway is the name of the Gateway, or waypoint, that gets the plugin.
	Gateway string
	// Namespace is where the gateway or the workloads are.
	Namespace string
	// Selector picks pods by their labels, "key=value" each: sidecars, or a
	// gateway that no Gateway resource made.
	Selector []string

	// Redis are the addresses, host:port; several are the nodes of a cluster.
	Redis []string
	// RedisCluster says that Redis is a cluster.
	RedisCluster bool
	// InMesh says that Redis is a service of the mesh, reached as such.
	InMesh bool
	// TLS is how Redis is reached; nil is without.
	TLS *TLS

	// PasswordSecret is a Kubernetes Secret with the password, NAME or NAME/KEY.
	PasswordSecret string

	// Image is where a Kubernetes platform gets the plugin: oci://…, or for some
	// http://, https:// or file://.
	Image string
	// SHA256 is the checksum that the platform compares with.
	SHA256 string
	// PullSecret names the Secret with which the image is pulled.
	PullSecret string

	// Module is the plugin's file, where a plain Envoy finds it.
	Module string
	// Upstream is the application behind a plain Envoy, host:port.
	Upstream string
	// Listen is where a plain Envoy takes requests, host:port.
	Listen string
	// Watch puts the plugin's configuration into a file of its own, at this path
	// on the gateway's machine, that Envoy watches. "" keeps it in one file.
	Watch string

	linkGiven bool // the configuration says redis.link
}

// TLS is how a connection to Redis is secured. Files are paths where Envoy runs.
type TLS struct {
	// CA is the file with the authorities that are believed; or, on Kubernetes,
	// "secret:NAME" or "configmap:NAME" with a key ca.crt.
	CA string
	// Name is what the server's certificate must be for; "" is the host of the
	// first address.
	Name string
	// Cert and Key are the files of a client certificate; "" for none.
	Cert, Key string
}

// systemCA is where Debian, and so Envoy's images, keep public authorities.
const systemCA = "/etc/ssl/certs/ca-certificates.crt"

// caFolder is where a mounted authority stands in the proxy.
const caFolder = "/etc/sluice-redis-ca"

// file is the path of the authorities in the proxy.
func (t *TLS) file() string {
	if t.CA == "" {
		return systemCA
	}
	if _, _, mounted := t.mount(); mounted {
		return caFolder + "/ca.crt"
	}
	return t.CA
}

// mount is the object that has to be mounted for the authorities.
func (t *TLS) mount() (kind, name string, ok bool) {
	kind, name, ok = strings.Cut(t.CA, ":")
	return kind, name, ok && (kind == "secret" || kind == "configmap")
}

// secret splits NAME/KEY; KEY is "password" when left out.
func (o *Options) secret() (name, key string) {
	name, key, _ = strings.Cut(o.PasswordSecret, "/")
	if key == "" {
		key = "password"
	}
	return name, key
}

func (o *Options) kubernetes() bool { return o.Target != Envoy }
