// validatorUrl: no badge, which would send the document to a server of Swagger's.
SwaggerUIBundle({ url: "openapi.json", dom_id: "#swagger-ui", validatorUrl: null });
