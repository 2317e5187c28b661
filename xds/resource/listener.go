package resource

// The messages in a Listener.
const (
	connectionManager = "envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"
	router            = "envoy.extensions.filters.http.router.v3.Router"
)

// Routes returns the Listener with this name, which has its routes inline (§3.1), or the
// RouteConfiguration with the same routes. The problems say what of a ServiceProfile it lacks,
// because xDS can't say that.
func (n Namer) Routes(t Type, asked string, s Subject, c Client) (r Resource, problems []string) {
	fill, names, problems := n.routes(s, c)
	if t == Listener {
		r = listener(asked, fill)
	} else {
		r = newResource(RouteConfiguration, asked, fill(message(nil).text(1, asked)))
	}
	r.LeadsTo = names
	return r, problems
}

// listener returns the Listener for a client library. What fill appends is the rest of its RouteConfiguration.
func listener(asked string, fill func(message) message) Resource {
	m := message(nil).text(1, asked).nested(19, func(m message) message {
		return m.any(1, connectionManager, func(m message) message {
			m = m.text(2, "xds").nested(4, func(m message) message { return fill(m.text(1, asked)) })
			return m.nested(5, func(m message) message { return m.text(1, "router").any(4, router, none) })
		})
	})
	return newResource(Listener, asked, m)
}

// virtualHost appends the virtual host for all names to a RouteConfiguration.
func (m message) virtualHost(routes func(message) message) message {
	return m.nested(2, func(m message) message { return routes(m.text(1, "all").text(2, "*")) })
}

// route appends a route to a virtual host: the fields of its RouteMatch, and those of its RouteAction.
func (m message) route(match, action func(message) message) message {
	return m.nested(3, func(m message) message { return m.nested(1, match).nested(2, action) })
}

// all appends the match of every request.
func all(m message) message { return m.presentText(1, "") }
