use crate::Recipe;
pub const RECIPES: &[Recipe] = &[];
