package source

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/template/parse"

	template "github.com/DataDog/datadog-agent/pkg/template/text"
)

// Functions that [spelled] writes into templates. Users' templates can't call them, because they
// are unknown when a template is parsed.
const (
	fieldFunction     = "field"
	conditionFunction = "fieldOrNothing"
)

// fieldFunctions are the functions of a template from [spelled].
var fieldFunctions = template.FuncMap{
	fieldFunction: func(of any, path ...string) (any, error) {
		for i, name := range path {
			var ok bool
			if of, ok = member(of, name); !ok {
				return nil, fmt.Errorf("there is no field %s", strings.Join(path[:i+1], "."))
			}
		}
		return of, nil
	},
	conditionFunction: func(of any, path ...string) any {
		for _, name := range path {
			of, _ = member(of, name)
		}
		return of
	},
}

// member returns a field of a part of an object. The name may be that of JSON or that of Go, which
// differ in capital letters only: dnsName and DNSName, virtualhost and VirtualHost.
func member(of any, name string) (any, bool) {
	switch fields := of.(type) {
	case map[string]any:
		return find(fields, name)
	case map[string]string:
		return find(fields, name)
	default:
		return nil, false
	}
}

func find[V any](fields map[string]V, name string) (any, bool) {
	if value, ok := fields[name]; ok {
		return value, true
	}
	found := ""
	for key := range fields {
		// The last name in byte order has the most lower-case letters, as names in JSON do.
		if strings.EqualFold(key, name) && key > found {
			found = key
		}
	}
	value, ok := fields[found]
	return value, ok
}

// spelled returns a copy of a template in which [member] looks up each field, so that both
// spellings of a name work at each level. The function condition is used in the conditions of if,
// with and range.
func spelled(t *template.Template, condition string) (*template.Template, error) {
	replace := func(_ parse.Node, function string, of parse.Node, path []string) parse.Node {
		return call(function, of, path)
	}
	return rewritten(t, fieldFunctions, speller{condition: condition, replace: replace})
}

// rewritten returns a copy of a template, changed by s, that may call the functions known.
func rewritten(t *template.Template, known template.FuncMap, s speller) (*template.Template, error) {
	copied := template.New(t.Name()).Funcs(functions("", nil)).Funcs(known)
	for _, defined := range t.Templates() {
		tree := defined.Tree.Copy()
		s.list(tree.Root)
		if _, err := copied.AddParseTree(defined.Name(), tree); err != nil {
			return nil, err
		}
	}
	return copied, nil
}

// speller replaces fields in the nodes of a template.
type speller struct {
	// condition is the function for fields in conditions.
	condition string
	// replace returns the replacement of a node with the fields path of another node.
	replace func(node parse.Node, function string, of parse.Node, path []string) parse.Node
}

// step is an empty text at the beginning of each list of nodes. The engine writes it, so that [output]
// can count repetitions without output.
var step parse.Node = &parse.TextNode{NodeType: parse.NodeText}

func (s *speller) list(list *parse.ListNode) {
	if list == nil {
		return
	}
	list.Nodes = slices.Insert(list.Nodes, 0, step)
	for _, node := range list.Nodes {
		switch n := node.(type) {
		case *parse.ActionNode:
			s.pipe(n.Pipe, fieldFunction)
		case *parse.TemplateNode:
			s.pipe(n.Pipe, fieldFunction)
		case *parse.IfNode:
			s.branch(&n.BranchNode)
		case *parse.WithNode:
			s.branch(&n.BranchNode)
		case *parse.RangeNode:
			s.branch(&n.BranchNode)
		}
	}
}

func (s *speller) branch(b *parse.BranchNode) {
	s.pipe(b.Pipe, s.condition)
	s.list(b.List)
	s.list(b.ElseList)
}

func (s *speller) pipe(pipe *parse.PipeNode, function string) {
	if pipe == nil {
		return
	}
	for _, command := range pipe.Cmds {
		for i, arg := range command.Args {
			command.Args[i] = s.arg(arg, function)
		}
	}
}

// arg returns the replacement of an argument.
func (s *speller) arg(arg parse.Node, function string) parse.Node {
	switch n := arg.(type) {
	case *parse.PipeNode:
		s.pipe(n, function)
	case *parse.FieldNode:
		return s.replace(n, function, &parse.DotNode{NodeType: parse.NodeDot, Pos: n.Pos}, n.Ident)
	case *parse.ChainNode:
		// The copy of a chain shares its node with the original.
		of := s.arg(n.Node.Copy(), function)
		return s.replace(chain(of, n.Field), function, of, n.Field)
	case *parse.VariableNode:
		if path := n.Ident[1:]; len(path) > 0 {
			variable := &parse.VariableNode{NodeType: parse.NodeVariable, Pos: n.Pos, Ident: n.Ident[:1]}
			return s.replace(n, function, variable, path)
		}
	}
	return arg
}

// chain returns the fields path of a node.
func chain(of parse.Node, path []string) parse.Node {
	if len(path) == 0 {
		return of
	}
	return &parse.ChainNode{NodeType: parse.NodeChain, Pos: of.Position(), Node: of, Field: path}
}

// call returns the expression (function of "path" …).
func call(function string, of parse.Node, path []string) parse.Node {
	at := of.Position()
	args := []parse.Node{parse.NewIdentifier(function).SetPos(at), of}
	for _, name := range path {
		args = append(args, &parse.StringNode{NodeType: parse.NodeString, Pos: at, Quoted: strconv.Quote(name), Text: name})
	}
	return &parse.PipeNode{
		NodeType: parse.NodePipe, Pos: at,
		Cmds: []*parse.CommandNode{{NodeType: parse.NodeCommand, Pos: at, Args: args}},
	}
}
